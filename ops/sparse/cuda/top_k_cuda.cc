// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/top_k_cuda.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "ops/sparse/cuda/cuda_status.h"
#include "ops/sparse/cuda/enqueue.h"

namespace commsched::ops::sparse::cuda {
size_t TopKBatch::ScratchBytes(const std::vector<Array> &arrays,
                               TopKMethod method) {
  return LayOut(arrays, method, nullptr).bytes;
}

absl::StatusOr<TopKBatch> TopKBatch::Make(Element element, Element index,
                                          const std::vector<Array> &arrays,
                                          void *scratch,
                                          const TopKOptions &options) {
  for (const Array &array : arrays) {
    TopKProblem problem;
    problem.element = element;
    problem.index = index;
    problem.size = array.size;
    problem.k = array.k;
    problem.steps = options.steps;
    if (absl::Status s = CheckTopK(problem); !s.ok()) return s;
    if (array.size > int64_t{1} << 31)
      return absl::InvalidArgumentError(
          absl::StrCat("size must be 0 to 2^31, got: ", array.size));
  }
  const Tables tables =
      LayOut(arrays, options.method, static_cast<std::byte *>(scratch));
  TopKBatch batch;
  batch.element_ = element;
  batch.index_ = index;
  batch.options_ = options;
  batch.items_ = tables.items.size();
  batch.groups_ = tables.group_item.size();
  batch.scratch_ = static_cast<std::byte *>(scratch);
  batch.states_at_ = tables.states_at;
  batch.items_at_ = tables.items_at;
  batch.groups_at_ = tables.groups_at;
  absl::Status s = FromCuda(
      cudaMemcpy(batch.scratch_ + tables.items_at, tables.items.data(),
                 tables.items.size() * sizeof(Item), cudaMemcpyHostToDevice),
      "copy of the items");
  if (s.ok())
    s = FromCuda(
        cudaMemcpy(batch.scratch_ + tables.groups_at, tables.group_item.data(),
                   tables.group_item.size() * sizeof(uint32_t),
                   cudaMemcpyHostToDevice),
        "copy of the groups");
  if (!s.ok()) return s;
  return batch;
}

absl::Status TopKBatch::Run(void *stream) const {
  if (items_ == 0) return absl::OkStatus();
  absl::Status s =
      FromCuda(cudaMemsetAsync(scratch_ + states_at_, 0, items_ * sizeof(State),
                               static_cast<cudaStream_t>(stream)),
               "clearing the states");
  if (!s.ok()) return s;
  const auto *items = reinterpret_cast<const Item *>(scratch_ + items_at_);
  auto *states = reinterpret_cast<State *>(scratch_ + states_at_);
  const auto *group_item =
      reinterpret_cast<const uint32_t *>(scratch_ + groups_at_);
  const int error =
      options_.method == TopKMethod::kMsTopK
          ? EnqueueMsTopK(int(element_), int(index_), items, states, group_item,
                          uint32_t(groups_), options_.steps, options_.seed,
                          options_.stop_early, stream)
          : EnqueueTopK(int(element_), int(index_), items, states, group_item,
                        uint32_t(items_), uint32_t(groups_), stream);
  return FromCuda(error, "selection");
}

absl::StatusOr<std::vector<NonFinite>> TopKBatch::Wait(void *stream) const {
  struct Head {
    unsigned long long non_finite, first_inverted;
  };
  std::vector<Head> heads(items_);
  absl::Status s =
      FromCuda(cudaMemcpy2DAsync(heads.data(), sizeof(Head),
                                 scratch_ + states_at_, sizeof(State),
                                 sizeof(Head), items_, cudaMemcpyDeviceToHost,
                                 static_cast<cudaStream_t>(stream)),
               "copy of the states");
  if (s.ok())
    s = FromCuda(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)),
                 "selection");
  if (!s.ok()) return s;
  std::vector<NonFinite> result(items_);
  for (size_t i = 0; i < items_; ++i)
    if (heads[i].non_finite != 0)
      result[i] = {int64_t(heads[i].non_finite),
                   int64_t(~heads[i].first_inverted)};
  return result;
}

}  // namespace commsched::ops::sparse::cuda
