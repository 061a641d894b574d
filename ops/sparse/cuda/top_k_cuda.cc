// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/top_k_cuda.h"

#include <cuda_runtime_api.h>

#include <algorithm>

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
  TopKBatch result;
  result.element_ = element;
  result.index_ = index;
  result.options_ = options;
  result.items_ = tables.items.size();
  result.scratch_ = static_cast<std::byte *>(scratch);
  const auto put = [&](size_t at, const void *from, size_t bytes) {
    return cudaMemcpy(result.scratch_ + at, from, bytes,
                      cudaMemcpyHostToDevice);
  };
  const auto put_all = [&](size_t at, const auto &all) {
    return put(at, all.data(), all.size() * sizeof(all[0]));
  };
  const Progress none{};
  int error = put_all(tables.items_at, tables.items);
  if (error == 0) error = put_all(tables.units_at, tables.unit_item);
  if (error == 0) error = put_all(tables.spans_at, tables.span_item);
  if (error == 0) error = put(tables.progress_at, &none, sizeof(none));
  Batch &batch = result.batch_;
  if (error == 0 && options.method != TopKMethod::kMsTopK)
    error = ExactBlocks(int(element), int(index), &batch.blocks);
  if (absl::Status s = FromCuda(error, "preparation of a selection"); !s.ok())
    return s;
  const auto at = [&]<typename T>(size_t place, T *) {
    return reinterpret_cast<T *>(result.scratch_ + place);
  };
  batch.items = at(tables.items_at, static_cast<Item *>(nullptr));
  batch.states = at(tables.states_at, batch.states);
  batch.progress = at(tables.progress_at, batch.progress);
  batch.unit_item = at(tables.units_at, static_cast<uint32_t *>(nullptr));
  batch.span_item = at(tables.spans_at, static_cast<uint32_t *>(nullptr));
  batch.item_count = uint32_t(tables.items.size());
  batch.unit_count = uint32_t(tables.unit_item.size());
  batch.span_count = uint32_t(tables.span_item.size());
  for (const Item &item : tables.items) batch.filled_count += item.size != 0;
  batch.blocks = std::clamp(batch.unit_count, 1u, std::max(1u, batch.blocks));
  return result;
}

absl::Status TopKBatch::Run(void *stream) const {
  if (items_ == 0) return absl::OkStatus();
  if (options_.method != TopKMethod::kMsTopK)
    return FromCuda(
        EnqueueExact(int(element_), int(index_), batch_, stream), "selection");
  absl::Status s =
      FromCuda(cudaMemsetAsync(batch_.states, 0, items_ * sizeof(State),
                               static_cast<cudaStream_t>(stream)),
               "clearing the states");
  if (!s.ok()) return s;
  return FromCuda(
      EnqueueMsTopK(int(element_), int(index_), batch_.items, batch_.states,
                    batch_.unit_item, batch_.unit_count, options_.steps,
                    options_.seed, options_.stop_early, stream),
      "selection");
}

absl::StatusOr<std::vector<NonFinite>> TopKBatch::Wait(void *stream) const {
  struct Head {
    unsigned long long non_finite, first_inverted;
  };
  std::vector<Head> heads(items_);
  absl::Status s =
      FromCuda(cudaMemcpy2DAsync(heads.data(), sizeof(Head),
                                 batch_.states, sizeof(State),
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
