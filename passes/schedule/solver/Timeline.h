// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs when under a schedule, once it repeats itself, and why compute
// stands still where it does.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_TIMELINE_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_TIMELINE_H

#include "passes/schedule/solver/Schedule.h"

#include <optional>
#include <vector>

namespace commsched::schedule {

/// Times count from the beginning of the first step ever run.
struct Timeline {
  struct Run {
    unsigned op = 0;
    uint64_t step = 0;
    Time begin = 0, end = 0;
  };
  /// A message on the link of one of its stages, until it is sent or overtaken.
  struct Transfer {
    unsigned message = 0;
    unsigned stage = 0;
    uint64_t step = 0;
    Time ready = 0;                    ///< its producers, or the stage before, are done; or it was overtaken
    Time begin = 0;                    ///< the link begins with it
    Time sent = 0;                     ///< the link goes on with others
    Time arrived = 0;                  ///< all of it is there; pieces may be before (Communication::tail)
    bool isLast = true;                ///< else it was overtaken, and the rest is another transfer
    std::optional<int64_t> bytes = {}; ///< what it sends, if not all of the stage's where it is the last, else none
  };
  /// A stream stands still, for nothing but a communication.
  struct Stall {
    unsigned op = 0; ///< runs next
    uint64_t step = 0;
    unsigned communication = 0; ///< the last to arrive of what is waited for
    Time begin = 0, end = 0;
  };
  std::vector<Run> runs;           ///< by beginning
  std::vector<Transfer> transfers; ///< by beginning
  std::vector<Stall> stalls;       ///< by end
  /// [i, i + 1): a step, from the end of compute of the one before to that of its
  /// own; they are like all steps from then on, if `settled`.
  std::vector<Time> steps;
  uint64_t firstStep = 0; ///< number of the one that steps[0] begins
  bool settled = true;
};

/// As evaluate() runs it, `steps` steps after the first that repeats itself, or
/// after the last one that is looked at. Empty if the step never ends, or takes too
/// long. Requires that verify() finds nothing.
Timeline traceSchedule(const Problem &problem, const Schedule &schedule,
                       unsigned steps = 3, unsigned maxSteps = 64);

/// Why a stream stands still for a time, seen back from the end of a stall.
enum class Cause {
  producer, ///< the communication is not released: another op has to run first
  busy,     ///< its message waits for the link, which sends another one
  credit,   ///< ... which may not be given more before that has arrived
  sending,  ///< its message is sent
  latency,  ///< ... and has not arrived
};

struct Stretch {
  Time begin = 0, end = 0;
  Cause cause = Cause::sending;
  unsigned message = 0; ///< that is waited for
  unsigned stage = 0;
  /// Op (producer), or message that the link sends (busy).
  unsigned other = 0;
  unsigned otherStage = 0;
  bool moreUrgent = false; ///< the other message, by priority: else it was there first
};

/// The stall in stretches without gaps, by time.
std::vector<Stretch> explain(const Problem &problem, const Schedule &schedule,
                             const Timeline &timeline, const Timeline::Stall &stall);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_TIMELINE_H
