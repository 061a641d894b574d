// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/lists_cuda.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/sparse/cuda/cuda_status.h"
#include "ops/sparse/cuda/enqueue.h"

namespace commsched::ops::sparse::cuda {
namespace {

absl::Status CopyTable(std::byte *to, const void *from, size_t bytes) {
  return FromCuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice),
                  "copy of a table");
}

absl::Status CheckList(const ListType &type, const List &list) {
  TopKProblem problem;
  problem.element = type.element;
  problem.index = type.index;
  absl::Status s = CheckTopK(problem);
  if (!s.ok()) return s;
  if (type.width < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("width must be 1 or more, got: ", type.width));
  if (list.count < 0 || list.count > int64_t{1} << 31)
    return absl::InvalidArgumentError(
        absl::StrCat("a list must have 0 to 2^31 entries, got: ", list.count));
  if (list.run < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("runs must be 1 or longer, got: ", list.run));
  return absl::OkStatus();
}

}  // namespace

size_t ListBatch::ScratchBytes(const ListType &type,
                               const std::vector<List> &lists) {
  return LayOutLists(type.width, lists, nullptr).bytes;
}

absl::StatusOr<ListBatch> ListBatch::Make(const ListType &type,
                                          const std::vector<List> &lists,
                                          void *scratch) {
  absl::Status s;
  for (const List &list : lists)
    if (s = CheckList(type, list); !s.ok()) return s;
  ListBatch batch;
  batch.type_ = type;
  batch.lists_ = lists;
  batch.scratch_ = static_cast<std::byte *>(scratch);
  batch.tables_ = LayOutLists(type.width, lists, batch.scratch_);
  const ListTables &tables = batch.tables_;
  s = CopyTable(batch.scratch_ + tables.items_at, tables.items.data(),
                tables.items.size() * sizeof(ListItem));
  if (s.ok())
    s = CopyTable(batch.scratch_ + tables.groups_at, tables.group_item.data(),
                  tables.group_item.size() * sizeof(uint32_t));
  if (!s.ok()) return s;
  return batch;
}

absl::Status ListBatch::Run(void *stream) const {
  if (lists_.empty()) return absl::OkStatus();
  absl::Status s = FromCuda(
      cudaMemsetAsync(scratch_ + tables_.states_at, 0,
                      lists_.size() * sizeof(ListState),
                      static_cast<cudaStream_t>(stream)),
      "clearing the states");
  if (!s.ok()) return s;
  return FromCuda(
      EnqueueLists(
          int(type_.element), int(type_.index),
          reinterpret_cast<const ListItem *>(scratch_ + tables_.items_at),
          reinterpret_cast<ListState *>(scratch_ + tables_.states_at),
          reinterpret_cast<const uint32_t *>(scratch_ + tables_.groups_at),
          uint32_t(tables_.group_item.size()), tables_.merges, stream),
      "lists");
}

absl::Status ListBatch::Wait(void *stream) const {
  std::vector<ListState> states(lists_.size());
  absl::Status s = FromCuda(
      cudaMemcpyAsync(states.data(), scratch_ + tables_.states_at,
                      states.size() * sizeof(ListState), cudaMemcpyDeviceToHost,
                      static_cast<cudaStream_t>(stream)),
      "copy of the states");
  if (s.ok())
    s = FromCuda(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)),
                 "lists");
  if (!s.ok()) return s;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].outside_inverted != 0) {
      const int64_t place = int64_t(~states[i].outside_inverted);
      const size_t bytes = ElementBytes(type_.index);
      int32_t narrow = 0;
      int64_t index = 0;
      const auto *list = static_cast<const std::byte *>(lists_[i].indices);
      s = FromCuda(cudaMemcpy(bytes == sizeof(narrow)
                                  ? static_cast<void *>(&narrow)
                                  : static_cast<void *>(&index),
                              list + size_t(place) * bytes, bytes,
                              cudaMemcpyDeviceToHost),
                   "copy of an index");
      if (!s.ok()) return s;
      if (bytes == sizeof(narrow)) index = narrow;
      return absl::OutOfRangeError(
          absl::StrCat("index ", index, " in place ", place, " of list ", i,
                       " must be -1 or less than ", lists_[i].size));
    }
    if (states[i].unordered_inverted != 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "list ", i, " must ascend in runs of ", lists_[i].run,
          ", but does not in place ", int64_t(~states[i].unordered_inverted)));
  }
  return absl::OkStatus();
}

size_t TopKListBatch::ScratchBytes(const ListType &type,
                                   const std::vector<TopKList> &lists) {
  return LayOutTopKLists(type, lists, nullptr).bytes;
}

absl::StatusOr<TopKListBatch> TopKListBatch::Make(
    const ListType &type, const std::vector<TopKList> &lists, void *scratch) {
  if (type.width != 1)
    return absl::InvalidArgumentError(
        absl::StrCat("width must be 1, got: ", type.width));
  for (const TopKList &top : lists) {
    if (absl::Status s = CheckList(type, top.list); !s.ok()) return s;
    if (top.k < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("k must be 0 or more, got: ", top.k));
  }
  auto *memory = static_cast<std::byte *>(scratch);
  const TopKListTables tables = LayOutTopKLists(type, lists, memory);
  TopKListBatch batch;
  batch.type_ = type;
  batch.count_ = lists.size();
  auto merge = ListBatch::Make(type, tables.lists, memory + tables.lists_at);
  if (!merge.ok()) return merge.status();
  batch.merge_ = *std::move(merge);
  auto select = TopKBatch::Make(type.element, Element::kI32, tables.arrays,
                                memory + tables.arrays_at);
  if (!select.ok()) return select.status();
  batch.select_ = *std::move(select);
  batch.picks_ = reinterpret_cast<const PickItem *>(memory + tables.picks_at);
  absl::Status s = CopyTable(memory + tables.picks_at, tables.picks.data(),
                             tables.picks.size() * sizeof(PickItem));
  if (!s.ok()) return s;
  return batch;
}

absl::Status TopKListBatch::Run(void *stream) const {
  absl::Status s = merge_.Run(stream);
  if (s.ok()) s = select_.Run(stream);
  if (!s.ok() || count_ == 0) return s;
  return FromCuda(EnqueuePick(int(type_.element), int(type_.index), picks_,
                              uint32_t(count_), stream),
                  "picking");
}

absl::Status TopKListBatch::Wait(void *stream) const {
  absl::Status s = merge_.Wait(stream);
  if (!s.ok()) return s;
  const auto non_finite = select_.Wait(stream);
  if (!non_finite.ok()) return non_finite.status();
  for (size_t i = 0; i < non_finite->size(); ++i)
    if ((*non_finite)[i].count != 0)
      return absl::InvalidArgumentError(
          absl::StrCat((*non_finite)[i].count, " sums of list ", i,
                       " are NaN or infinite, the first is entry ",
                       (*non_finite)[i].first, " of the merged list"));
  return absl::OkStatus();
}

}  // namespace commsched::ops::sparse::cuda
