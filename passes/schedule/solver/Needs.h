// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which op of a stream needs a communication first.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_NEEDS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_NEEDS_H

#include "passes/schedule/solver/Problem.h"

#include <compare>

namespace commsched::schedule {

/// The first op of a stream that needs something, in steps from here.
struct Need {
  unsigned distance;
  unsigned position; ///< in the order of the stream
  auto operator<=>(const Need &) const = default;
};

/// By communication: the first op of the stream that needs it, directly or not.
std::vector<Need> firstNeeds(const Problem &problem,
                             const std::vector<std::vector<unsigned>> &order,
                             unsigned stream);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_NEEDS_H
