// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which messages of a schedule are exclusive.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_EXCLUSIVE_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_EXCLUSIVE_H

#include "passes/schedule/solver/Schedule.h"

#include <utility>

namespace commsched::schedule {

/// The same schedule with the all-reduces that are needed first more urgent than all others, and exclusive (plan/exclusive.h): as many of them as
/// make the step shortest, and of such numbers the least; the same where none makes it shorter. Schedules are judged as `written` makes them; none: as they are.
///
/// Whatever else decides what goes first, for those it is the need: an urgent tensor waits in each of its rounds for a packet and a socket's bytes of what is less urgent, and a device for the tensor.
/// If nothing else is sent meanwhile, the link stands still between its rounds, for less than that. With its period.
std::pair<Schedule, double> withExclusive(const Problem &problem, Schedule schedule, const Applied &written = {});

/// Of the schedule and those of `others` with its order of ops the one that is shortest so, by a ten-thousandth at least if it is another:
/// what is short without exclusive messages need not be the shortest with them.
Schedule shortestWithExclusive(const Problem &problem, Schedule schedule, const std::vector<Schedule> &others, const Applied &written = {});

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_EXCLUSIVE_H
