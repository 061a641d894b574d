// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule of a step's problem as messages with keys and priorities.

#ifndef COMMSCHED_PASSES_SCHEDULE_APPLY_H
#define COMMSCHED_PASSES_SCHEDULE_APPLY_H

#include "passes/schedule/CutBlocks.h"
#include "passes/schedule/Starts.h"
#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// Messages that the program can hold: chains (Chains.h), of whole elements, and none
/// that is used before all of it has been made. All-reduces of more than `most` bytes
/// are divided, between tensors or at cache lines; 0: any are allowed. They are in the
/// order of their starts, and what they have in that of arrangePieces().
void makeApplicable(const StepProblem &step,
                    const StepCommunications &communications, int64_t most,
                    schedule::Schedule &schedule);

/// By message: what the runtime queues each of its stages between nodes by. Counted from 0 without
/// gaps, in the order of the schedule's; all 0 if that is the order of release, and of the
/// messages: equal priorities go first come, first served.
std::vector<std::vector<int64_t>> ranksOf(const StepProblem &step,
                                          const schedule::Schedule &schedule);

/// The messages' keys. A tensor alone keeps its own; a piece of one is
/// "<key>.part<i>", counted from its front; a message of n is named after its first
/// piece, with "+<n - 1>".
std::vector<std::string> keysOf(const StepProblem &step,
                                const schedule::Schedule &schedule);

/// The blocks of which the schedule, whose messages have these keys, sends parts. They
/// are to be cut before requestsOf(), which then gets what inParts() makes of the schedule
/// for the problem `parts` of the step with those parts.
std::vector<CutBlock> cutsOf(const StepProblem &step, const schedule::Schedule &schedule,
                             const std::vector<std::string> &keys);
schedule::Schedule inParts(const StepProblem &step, schedule::Schedule schedule,
                           const std::vector<std::string> &keys,
                           const StepProblem &parts);

/// `parts`: those of a message are read one by one.
std::vector<StartRequest> requestsOf(const StepProblem &step,
                                     const schedule::Schedule &schedule, bool parts = false);

/// Bytes that the runtime lets be on the way on a link: those of the round that each
/// of the messages is in. 0: no limit.
int64_t creditOf(const StepProblem &step, const schedule::Schedule &schedule,
                 int64_t rounds);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_APPLY_H
