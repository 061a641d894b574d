// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selection on a CUDA device, from many arrays at once: the twin of
// ops/sparse/top_k.h, which defines the answers.
//
// kExact and kSampled: one kernel, which reads the array once. A sample gives a
// range in which the k-th magnitude is likely to be; what is in it or above is
// kept as candidates, among which the search goes on; if these are fewer than k,
// in the array itself. kHistogram: always in the array itself, in up to three
// reads and two more to write. kMsTopK: as published, a read for each step. The
// host waits for none.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_TOP_K_CUDA_H
#define COMMSCHED_OPS_SPARSE_CUDA_TOP_K_CUDA_H

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/base/element.h"
#include "ops/sparse/cuda/top_k_tables.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse::cuda {

struct TopKOptions {
  TopKMethod method = TopKMethod::kExact;
  // Of kMsTopK, as in TopKProblem:
  int steps = 30;
  uint64_t seed = 0;
  bool stop_early = false;
};

// A batch that is selected from again and again, in the same memory. Movable;
// used by one thread at a time, with the device that was current in Make.
class TopKBatch {
 public:
  // Bytes of device memory that a batch needs.
  static size_t ScratchBytes(const std::vector<Array> &arrays,
                             TopKMethod method = TopKMethod::kExact);

  // `scratch`: device memory, aligned to 64 bytes, which must outlive the
  // batch. All arrays have elements and indices of one type: kF32, kF16 or
  // kBF16, and kI32 or kI64. Waits until the tables have been copied.
  static absl::StatusOr<TopKBatch> Make(Element element, Element index,
                                        const std::vector<Array> &arrays,
                                        void *scratch,
                                        const TopKOptions &options = {});

  // Puts one selection from all arrays on the cudaStream_t: a kernel, or a fixed
  // sequence of them, without the host in between, which may be captured into a
  // graph. Runs of a batch must not overlap; after one that an error of the
  // device has ended, the batch is of no use.
  absl::Status Run(void *stream) const;

  // Waits for the stream, and says of each array what was not finite in the
  // last run: of such an array values and indices hold anything, and the new
  // residual holds the sum.
  absl::StatusOr<std::vector<NonFinite>> Wait(void *stream) const;

 private:
  Element element_ = Element::kF32, index_ = Element::kI32;
  TopKOptions options_;
  size_t items_ = 0;
  std::byte *scratch_ = nullptr;
  Batch batch_ = {};
};

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_CUDA_H
