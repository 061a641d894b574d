// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --schedule-comm and --solve-problem have decided, beside the module that
// they write: for reports. A PassInstrumentation asks for it and takes it.

#ifndef COMMSCHED_PASSES_SCHEDULE_SCHEDULEDSTEPS_H
#define COMMSCHED_PASSES_SCHEDULE_SCHEDULEDSTEPS_H

#include "passes/schedule/solver/Solve.h"

#include <optional>

namespace commsched {

struct ScheduledStep {
  schedule::Problem problem;
  schedule::Solution solution;       ///< as it was applied
  std::vector<std::string> messages; ///< their names, as in the schedule
  std::string policy;
  /// The same step on twice as many nodes; not where the problem knows no nodes.
  std::optional<schedule::Problem> twiceNodes;
  std::vector<std::pair<std::string, std::string>> facts; ///< for people
  schedule::BucketLimits buckets = {};                    ///< of the policy fixed-buckets
};

/// Mixed into a pass.
class ScheduledSteps {
public:
  virtual ~ScheduledSteps() = default;
  /// Before the pass runs: that what it decides is wanted.
  void keepSteps() { wanted = true; }
  std::vector<ScheduledStep> takeSteps() { return std::move(steps); }

protected:
  bool wanted = false;
  std::vector<ScheduledStep> steps;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_SCHEDULEDSTEPS_H
