// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several connections to servers send at once, as one link that sends one message after the other.

#ifndef COMMSCHED_PASSES_SCHEDULE_PACE_H
#define COMMSCHED_PASSES_SCHEDULE_PACE_H

#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// Of messages to, and from, servers that are as urgent as each other, those of each server at one pace: each
/// server has a connection of its own, and those that send have equal parts of the link. Other messages keep
/// their order. Where there are no servers, or one, nothing changes.
schedule::Schedule atOnePace(const StepProblem &step, schedule::Schedule schedule);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_PACE_H
