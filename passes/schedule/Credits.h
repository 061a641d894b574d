// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one credit that a module records, and what it is on each link of the problem.

#ifndef COMMSCHED_PASSES_SCHEDULE_CREDITS_H
#define COMMSCHED_PASSES_SCHEDULE_CREDITS_H

#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// Bytes that the runtime lets be on the way on a link: those of the round that each
/// of the messages is in, or of one trainer. 0: no limit.
int64_t creditOf(const StepProblem &step, const schedule::Schedule &schedule);
/// What such a credit is on the links of the problem.
void setCredit(const StepProblem &step, int64_t recorded, schedule::Schedule &schedule);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_CREDITS_H
