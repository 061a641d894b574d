// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halving and doubling, round by round. docs/scheduling.md says what differs.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_ROUNDS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_ROUNDS_H

#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

/// A problem with a link for each peer of a link (Link::peers), on which its stages are rounds.
class Rounds {
public:
  explicit Rounds(const Problem &given);

  /// Of a schedule of the given problem. The same as schedule::evaluate() where all links have one peer.
  Evaluation evaluate(const Schedule &schedule) const;

  bool any() const { return !media.empty(); }

private:
  Problem problem;
  std::vector<unsigned> peers, first;         ///< by link of the given problem: how many, and the first of them
  std::vector<unsigned> media;                ///< by link; empty: all links have one peer
  std::vector<std::vector<unsigned>> stageOf; ///< by communication and stage: the given one
};

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_ROUNDS_H
