// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists on a CUDA device, many at once: the twin of ops/sparse/lists.h, which
// defines the answers. Sums are added in the order of the list, and do not
// depend on how the device runs blocks.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_LISTS_CUDA_H
#define COMMSCHED_OPS_SPARSE_CUDA_LISTS_CUDA_H

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/sparse/cuda/lists_tables.h"
#include "ops/sparse/cuda/top_k_cuda.h"

namespace commsched::ops::sparse::cuda {

// Lists that are merged or added again and again, in the same memory. Movable;
// used by one thread at a time, with the device that was current in Make.
class ListBatch {
 public:
  // Bytes of device memory that a batch needs.
  static size_t ScratchBytes(const ListType &type,
                             const std::vector<List> &lists);

  // `scratch`: device memory, aligned to 64 bytes, which must outlive the
  // batch. Waits until the tables have been copied.
  static absl::StatusOr<ListBatch> Make(const ListType &type,
                                        const std::vector<List> &lists,
                                        void *scratch);

  // Puts a fixed sequence of kernels on the cudaStream_t, which may be captured
  // into a graph.
  absl::Status Run(void *stream) const;

  // Waits for the stream. kOutOfRange for an index that is neither -1 nor below
  // the size, kInvalidArgument for a run that does not ascend: then nothing was
  // written for that list.
  absl::Status Wait(void *stream) const;

 private:
  ListType type_;
  std::vector<List> lists_;
  ListTables tables_;
  std::byte *scratch_ = nullptr;
};

// The same for the k largest of merged lists (MergeTopK).
class TopKListBatch {
 public:
  static size_t ScratchBytes(const ListType &type,
                             const std::vector<TopKList> &lists);
  static absl::StatusOr<TopKListBatch> Make(const ListType &type,
                                            const std::vector<TopKList> &lists,
                                            void *scratch);
  absl::Status Run(void *stream) const;
  // Also kInvalidArgument for sums that are not finite.
  absl::Status Wait(void *stream) const;

 private:
  ListType type_;
  ListBatch merge_;
  TopKBatch select_;
  size_t count_ = 0;
  const PickItem *picks_ = nullptr;
};

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_LISTS_CUDA_H
