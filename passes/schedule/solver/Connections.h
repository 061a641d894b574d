// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A link as its connections share it: round by round around a ring and to the peers of halving and doubling, and to
// parameter servers. docs/scheduling.md says what differs.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONS_H

#include "passes/schedule/solver/Execution.h"

namespace commsched::schedule {

/// A problem with a link for each connection of a link: one for each peer where it has several (Link::peers), or for all of its
/// rounds (Link::rounds), on which its stages are rounds, and one for each server where connections have queues of their own (Link::byConnection).
class Connections {
public:
  explicit Connections(const Problem &given);

  /// schedule::evaluate() of the given problem, for many schedules of it.
  Evaluation evaluate(const Schedule &schedule, unsigned maxSteps = 64) const;

  /// schedule::traceSchedule() likewise, of the given problem's messages and stages.
  Timeline trace(const Schedule &schedule, unsigned steps, unsigned maxSteps) const;

  bool any() const { return !sharing.media.empty(); }

private:
  class Splitter;
  /// Of a communication.
  struct Rounds {
    int64_t ranks = 0; ///< 0: it has none
    unsigned count = 0;
  };

  /// The messages in the slices in which they go through their rounds; `exchanges`, by slice: the message that it is of. None if all are in one.
  std::optional<Schedule> inSlices(const Schedule &schedule, std::vector<unsigned> &exchanges) const;

  Problem problem;
  std::vector<Rounds> rounds; ///< by communication
  Sharing sharing;            ///< media are the given links; empty: none has several connections
};

/// Of a period as it is run, what rounding of shared times may make of it.
inline constexpr double kRoundedAsRun = 1e-7;

/// Whether links have several.
bool hasConnections(const Problem &problem);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONS_H
