// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A link as its connections share it: round by round to the peers of halving and doubling, and to
// parameter servers. docs/scheduling.md says what differs.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONS_H

#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

/// A problem with a link for each connection of a link: one for each peer where it has several (Link::peers), on which
/// its stages are rounds, and one for each server where connections have queues of their own (Link::byConnection).
class Connections {
public:
  explicit Connections(const Problem &given);

  /// Of a schedule of the given problem. The same as schedule::evaluate() where no link has several.
  Evaluation evaluate(const Schedule &schedule) const;

  bool any() const { return !media.empty(); }

private:
  class Splitter;

  Problem problem;
  std::vector<Link> given;                    ///< links of the given problem
  std::vector<unsigned> media;                ///< by link: the given one; empty: none has several connections
  std::vector<std::vector<unsigned>> stageOf; ///< by communication and stage: the given one
};

/// Of a period as it is run, what rounding of shared times may make of it.
inline constexpr double kRoundedAsRun = 1e-7;

/// Whether links have several: a schedule is another one as it is run.
bool hasConnections(const Problem &problem);

/// As it is run: of Connections, where there are several.
Evaluation evaluateAsRun(const Problem &problem, const Schedule &schedule);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONS_H
