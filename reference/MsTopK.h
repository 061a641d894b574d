// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cs.top_k "mstopk" selects (Shi et al., MLSys 2021, algorithm 1).

#ifndef COMMSCHED_REFERENCE_MSTOPK_H
#define COMMSCHED_REFERENCE_MSTOPK_H

#include "reference/Scalar.h"

namespace commsched::reference {

struct MsTopKDraw {
  int64_t samples; // reads that look for a threshold
  uint64_t seed;
  int32_t step;
};

/// Places of k of `entries`, all finite, ascending. `settled` is false if bounds, or
/// how the mean is rounded, allow other ones.
std::vector<int64_t> selectMsTopK(const std::vector<Scalar> &entries, int64_t k,
                                  const MsTopKDraw &draw, bool &settled);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_MSTOPK_H
