// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The preemptive schedule that no schedule of the same order of ops can beat: each
// link by itself always sends what is needed first, in pieces as small as need be,
// and only costs per message that none can avoid are counted. docs/scheduling.md
// has the proof.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_RELAXATION_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_RELAXATION_H

#include "passes/schedule/solver/Problem.h"

namespace commsched::schedule {

struct Relaxation {
  double period = 0; ///< nanoseconds per step
  /// By step: nanoseconds until its first op starts. No schedule that starts at
  /// time 0, with all communication of steps before done, is earlier.
  std::vector<double> starts;
  /// The communication that streams stand still for most, if any.
  std::optional<unsigned> critical;
  bool settled = true; ///< false: the period is a bound, but there may be a better one
};

/// The order is valid. Runs until the state repeats, or `maxSteps` steps.
Relaxation relax(const Problem &problem,
                 const std::vector<std::vector<unsigned>> &order, unsigned maxSteps);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_RELAXATION_H
