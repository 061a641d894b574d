// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is done to a part of a tensor's block on one server is done on all servers: where they
// are as busy as each other, a step is as long as with the one that was not changed.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_TWINS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_TWINS_H

#include "passes/schedule/solver/Schedule.h"

#include <utility>
#include <vector>

namespace commsched::schedule {

/// Messages of different kinds that begin with the same part, in order, of communications of the same
/// producers and consumers. Of several such communications of a kind, the largest go together, and so on.
class Twins {
public:
  explicit Twins(const Problem &problem);

  /// Whether some communication has one.
  bool any() const { return several; }
  /// Those of a message, itself among them, ascending.
  std::vector<size_t> of(const Schedule &schedule, size_t message) const;
  /// What they have in common: of the first piece, whose parts of tensors it has, and which one.
  std::pair<unsigned, size_t> nameOf(const Schedule &schedule, size_t message) const;

private:
  const Problem &problem;
  std::vector<unsigned> tensor; ///< by communication: the same for twins
  bool several = false;
};

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_TWINS_H
