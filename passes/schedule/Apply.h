// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule of a step's problem as messages with keys and priorities.

#ifndef COMMSCHED_PASSES_SCHEDULE_APPLY_H
#define COMMSCHED_PASSES_SCHEDULE_APPLY_H

#include "passes/schedule/CutBlocks.h"
#include "passes/schedule/FuseBlocks.h"
#include "passes/schedule/Starts.h"
#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// Messages that the program can hold: chains (Chains.h), of whole elements, and none
/// that is used before all of it has been made. All-reduces of more than `most` bytes
/// are divided, between tensors or at cache lines; 0: any are allowed. They are in the
/// order of their starts, what they have in that of arrangePieces(), and all links have the one
/// credit that is recorded.
void makeApplicable(const StepProblem &step,
                    const StepCommunications &communications, int64_t most,
                    schedule::Schedule &schedule);

/// By message: what the runtime queues each of its stages between nodes by. Counted from 0 without
/// gaps, in the order of the schedule's; all 0 if that is the order of release, and of the
/// messages: equal priorities go first come, first served.
std::vector<std::vector<int64_t>> ranksOf(const StepProblem &step,
                                          const schedule::Schedule &schedule);

/// The same schedule with the priorities that ranksOf() says, as one reads it in the module.
schedule::Schedule asWritten(const StepProblem &step, schedule::Schedule schedule);
/// By stage, of the ranks of a message's first and last stage between nodes.
std::vector<int64_t> prioritiesByStage(const StepProblem::Part &part, size_t stages,
                                       int64_t first, int64_t last);

/// The messages' keys. A tensor alone keeps its own; a piece of one is
/// "<key>.part<i>", counted from its front; a message of n is named after its first
/// piece, with "+<n - 1>".
std::vector<std::string> keysOf(const StepProblem &step,
                                const schedule::Schedule &schedule);

/// Blocks of servers of which the schedule, whose messages have these keys, sends parts, and
/// what of them it sends together.
struct BlockChanges {
  std::vector<CutBlock> cuts;
  struct Together {
    std::string key;
    std::vector<std::string> pieces; ///< keys of blocks, and of parts that `cuts` makes
  };
  std::vector<Together> together;
  bool empty() const { return cuts.empty() && together.empty(); }
};
/// They are to be cut and fused before requestsOf(), which then gets what inParts() makes of
/// the schedule for the problem `parts` of the step with those messages, of which each takes its
/// share of the update as it does in `step`, not rounded by its own costs.
BlockChanges changesOf(const StepProblem &step, const schedule::Schedule &schedule,
                       const std::vector<std::string> &keys);
schedule::Schedule inParts(const StepProblem &step, schedule::Schedule schedule,
                           const std::vector<std::string> &keys,
                           StepProblem &parts);

/// `parts`: those of a message are read one by one.
std::vector<StartRequest> requestsOf(const StepProblem &step,
                                     const schedule::Schedule &schedule, bool parts = false);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_APPLY_H
