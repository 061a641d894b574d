// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fewer messages for about the same period.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_COARSEN_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_COARSEN_H

#include "passes/schedule/solver/Order.h"

namespace commsched::schedule {

/// Merges messages as long as the period is at most `most` nanoseconds, and gives links
/// the credit that this takes. A message costs processor time that no problem
/// describes: of schedules that are predicted to be equal, the one with fewer messages
/// is the better one. `view` has the schedule's order of ops; `evaluation` is that of
/// the schedule given, and becomes that of the result, which is as it is when applied.
/// Simulates about `effort` messages.
Schedule coarsen(const View &view, Schedule schedule, Evaluation &evaluation,
                 double most, int64_t effort, const Applied &applied = {});

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_COARSEN_H
