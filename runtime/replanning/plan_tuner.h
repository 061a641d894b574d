// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of one program that are tried on real steps of a run, of which the fastest is kept.
#ifndef COMMSCHED_RUNTIME_REPLANNING_PLAN_TUNER_H
#define COMMSCHED_RUNTIME_REPLANNING_PLAN_TUNER_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/replanning/replanner.h"

namespace commsched::runtime {

struct PlanTunerOptions {
  // Files, of the process with rank 0 only, the plan that the run begins with first. They are read when they are
  // needed, and stay as they are meanwhile. Reports have their names, without folder and ".plan".
  std::vector<std::string> plans;
  // Of a turn, besides those that warm up. 0: kLeastSteps to kMostSteps, as many as StepClock takes.
  uint64_t steps = 0;
  static constexpr uint64_t kLeastSteps = 5, kMostSteps = 40;
};

// What makes a Replanner try them; see core::PlanTrials. Ranks that follow need no plans, and the same steps.
// An error names a file that cannot be read, or is no plan.
absl::StatusOr<ReplanOptions> TunePlans(const PlanTunerOptions &options);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_PLAN_TUNER_H
