// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream that runs its ops in an order, step after step.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_OPSTREAM_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_OPSTREAM_H

#include "passes/schedule/solver/Problem.h"

namespace commsched::schedule {

struct OpStream {
  uint64_t step = 0;   ///< of the next op
  size_t position = 0; ///< of the next op in the order
  bool busy = false;
  Time free = 0; ///< when the last op ended

  /// The op that it ran, of `ops` of a step, has ended.
  void end(Time now, size_t ops) {
    busy = false;
    free = now;
    if (++position == ops) {
      position = 0;
      ++step;
    }
  }
};

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_OPSTREAM_H
