// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How short the period of any schedule can be at best. The proofs are in
// docs/scheduling.md.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_BOUND_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_BOUND_H

#include "passes/schedule/solver/Problem.h"

namespace commsched::schedule {

/// The problem as if every message cost all that is said of it, and each op lost what it
/// loses here and is run where the order has it, and nodes are in step: what a schedule is judged by. Its bound is one for
/// these costs only.
Problem asGiven(Problem problem);

struct Bound {
  double period = 0; ///< nanoseconds per step
  std::string why;   ///< what it comes from, for people: "compute", "link up", ...
};

/// For schedules that run the ops in this order (by stream): the exact period of
/// the preemptive schedule, in which messages have no overhead but the latency
/// that none can avoid. With one stream, exact for that relaxation. What is avoidable of
/// a message is not counted, what ops share only for all of a stream together. Deferred ops may
/// run anywhere. Of nodes that are not in step: as boundOfAnyOrder.
Bound boundOfOrder(const Problem &problem,
                   const std::vector<std::vector<unsigned>> &order);

/// For any order of the ops that the problem allows. Weaker, also than
/// boundOfOrder of the best order. Of nodes that are not in step (Problem::stepsApart): of the totals alone, of compute and of
/// what each link does for a step in the mean. What a node waits for depends on when the others send, and in the steps
/// between on nothing.
Bound boundOfAnyOrder(const Problem &problem);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_BOUND_H
