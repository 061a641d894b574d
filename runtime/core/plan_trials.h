// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of several plans of one program is kept, by what their steps take in a run: docs/replanning.md.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_PLAN_TRIALS_H
#define COMMSCHED_RUNTIME_CORE_PLAN_TRIALS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace commsched::runtime::core {

// Every plan is tried once, in order; once more if that was not clearly behind, as other work may have come between;
// then again those that may be the fastest as far as the errors of what was measured tell, until there is one, or none
// that may be kept instead of the first, or all of them have had `kMostTrials`. What comes between only makes steps
// longer, so a plan's figure is the lesser of two trials, and the middle one of three. The first plan is kept unless
// another is faster by more than half the error of the difference and half a percent: who is kept of plans that are as
// fast makes no difference, and waiting for more than that keeps plans that are behind (tests/runtime/core/plan_trials_test.cc).
class PlanTrials {
 public:
  static constexpr int kMostTrials = 3;
  static constexpr int64_t kLeastPermille = 5;
  static constexpr double kErrors = 1.4;          // standard ones of several trials together: few plans that are equal differ by more
  static constexpr int64_t kClearlyPercent = 25;  // behind the fastest: not tried again

  // At least one.
  explicit PlanTrials(size_t plans) : plans_(plans) {}

  // Steps of plan `plan` took `step_ns`, with a standard error of `error_ns`, as far as is known. Both
  // are at least 0.
  void Measured(size_t plan, int64_t step_ns, int64_t error_ns);
  // The plan cannot run: it is not tried again, nor kept. Not of the one that runs.
  void Refused(size_t plan) { plans_[plan].refused = true; }

  // The plan that is tried next; nothing once it is known which one is kept.
  std::optional<size_t> Next() const;
  // The one that is kept; while there is a next one, the one that would be now. Some plan has been measured.
  size_t Kept() const;
  // What steps of a plan took: the lower median of its trials; 0 without any.
  int64_t StepNs(size_t plan) const;
  bool refused(size_t plan) const { return plans_[plan].refused; }

 private:
  struct Plan {
    std::vector<int64_t> trials, errors;  // ns, in ascending order
    bool refused = false;
  };
  // How far StepNs is off: no less than was given of trials, their lower median, of several 1.4 times that over the
  // root of their number, nor than half of what two of them differ, of three the two that differ least.
  int64_t ErrorNs(size_t plan) const;
  // As far as errors tell, it may be faster than the first by as much as a change must gain.
  bool MayReplaceFirst(size_t plan) const;
  bool Runs(size_t plan) const { return !plans_[plan].refused && !plans_[plan].trials.empty(); }
  size_t Fastest() const;

  std::vector<Plan> plans_;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_PLAN_TRIALS_H
