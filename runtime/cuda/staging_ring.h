// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places of staging buffers in pinned memory: one behind the other, around a ring, in the order in
// which they are filled. A place is used again as soon as its turn has come; that what had it
// before is no longer needed follows from the ranges of ops (step_graph.h), as for all memory.
#ifndef COMMSCHED_RUNTIME_CUDA_STAGING_RING_H
#define COMMSCHED_RUNTIME_CUDA_STAGING_RING_H

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {

class StagingRing {
 public:
  // Buffers begin at multiples of `alignment`, a power of two.
  explicit StagingRing(uint64_t bytes, uint64_t alignment = 256)
      : bytes_(bytes), alignment_(alignment) {}

  // Where the next buffer begins. kInvalidArgument if it is longer than the ring.
  absl::StatusOr<uint64_t> Place(uint64_t bytes) {
    if (bytes > bytes_)
      return absl::InvalidArgumentError(absl::StrCat("staging buffer must have at most the ring's ",
                                                     bytes_, " bytes, got: ", bytes));
    if (next_ > bytes_ - bytes) next_ = 0;
    const uint64_t place = next_;
    // Neither sum overflows: the place is within the ring.
    const uint64_t end = place + bytes, over = end % alignment_;
    next_ = over == 0 ? end : bytes_ - end < alignment_ - over ? bytes_
                                                               : end + alignment_ - over;
    return place;
  }

 private:
  uint64_t bytes_, alignment_;
  uint64_t next_ = 0;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_STAGING_RING_H
