// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How short the period of any schedule can be at best. The proofs are in
// docs/scheduling.md.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_BOUND_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_BOUND_H

#include "passes/schedule/solver/Problem.h"

namespace commsched::schedule {

struct Bound {
  double period = 0; ///< nanoseconds per step
  std::string why;   ///< what it comes from, for people: "compute", "link up", ...
};

/// For schedules that run the ops in this order (by stream): the exact period of
/// the preemptive schedule, in which messages have no overhead but the latency
/// that none can avoid. With one stream, exact for that relaxation.
Bound boundOfOrder(const Problem &problem,
                   const std::vector<std::vector<unsigned>> &order);

/// For any order of the ops that the problem allows. Weaker, also than
/// boundOfOrder of the best order.
Bound boundOfAnyOrder(const Problem &problem);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_BOUND_H
