// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a schedule sends what, where it runs as its problem says and repeats itself: its turns.

#ifndef COMMSCHED_PASSES_SCHEDULE_TURNS_H
#define COMMSCHED_PASSES_SCHEDULE_TURNS_H

#include "passes/schedule/Starts.h"
#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// Numbers the requests, which are requestsOf(): a message sooner on its link has a smaller
/// turn.
void addTurns(const StepProblem &step, const schedule::Schedule &schedule,
              std::vector<StartRequest> &requests);

/// The same schedule with pushes to servers by their turns, where that takes no longer.
///
/// A server waits for a block of all trainers. By need, a gradient overtakes what is left of those before
/// it, which is another part of them on each trainer, as links and compute are never alike to the
/// microsecond: what one has pushed and another one has not is left lying until nothing is more urgent,
/// and grows gradient by gradient, while the links back have nothing to send. By turns all push the same
/// before the same, whatever comes in between. Turns are those by need where links are a little slower than
/// the problem says. What the next step does not need, or this one does, is not
/// touched: it is as urgent as it was, before all pushes or behind them.
schedule::Schedule pushInTurn(const StepProblem &step, schedule::Schedule schedule);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_TURNS_H
