// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that run whenever their stream has time. docs/scheduling.md says why the bound for an order
// is that of the problem without them.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_DEFERRED_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_DEFERRED_H

#include "passes/schedule/solver/Problem.h"

#include <vector>

namespace commsched::schedule {

struct OrderedProblem {
  Problem problem;
  std::vector<std::vector<unsigned>> order; ///< by stream
};

/// The problem without its deferred ops: what waits for one waits for all that it waits for, and
/// nobody for the time that it takes. Where communication comes both before and behind one, it stays, on a
/// stream of its own. Nothing starts later than in a run of the given problem with the other ops in
/// this order, wherever it runs the deferred ones. Communications keep their numbers.
OrderedProblem withoutDeferred(const Problem &problem,
                               const std::vector<std::vector<unsigned>> &order);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_DEFERRED_H
