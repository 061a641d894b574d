// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/plan_trials.h"

#include <algorithm>
#include <numeric>

namespace commsched::runtime::core {

void PlanTrials::Measured(size_t plan, int64_t step_ns, int64_t error_ns) {
  plans_[plan].trials.push_back(step_ns);
  plans_[plan].error = std::max(plans_[plan].error, error_ns);
}

int64_t PlanTrials::StepNs(size_t plan) const {
  const std::vector<int64_t> &trials = plans_[plan].trials;
  if (trials.empty()) return 0;
  return std::accumulate(trials.begin(), trials.end(), int64_t{0}) / int64_t(trials.size());
}

int64_t PlanTrials::ErrorNs(size_t plan) const {
  const auto [least, most] =
      std::minmax_element(plans_[plan].trials.begin(), plans_[plan].trials.end());
  return std::max(plans_[plan].error, (*most - *least + 1) / 2);
}

size_t PlanTrials::Fastest() const {
  size_t fastest = plans_.size();
  for (size_t plan = 0; plan < plans_.size(); ++plan)
    if (Runs(plan) && (fastest == plans_.size() || StepNs(plan) < StepNs(fastest))) fastest = plan;
  return fastest;
}

std::optional<size_t> PlanTrials::Next() const {
  size_t fewest = kMostTrials;
  for (size_t plan = 0; plan < plans_.size(); ++plan)
    if (!plans_[plan].refused && plans_[plan].trials.empty()) return plan;
  const size_t fastest = Fastest();
  const int64_t at_most = StepNs(fastest) + ErrorNs(fastest);
  std::optional<size_t> next;
  int may_be = 0;
  for (size_t plan = 0; plan < plans_.size(); ++plan) {
    if (!Runs(plan) || StepNs(plan) - ErrorNs(plan) > at_most) continue;
    ++may_be;
    if (plans_[plan].trials.size() >= fewest) continue;
    fewest = plans_[plan].trials.size();
    next = plan;
  }
  return may_be > 1 ? next : std::nullopt;
}

size_t PlanTrials::Kept() const {
  const size_t fastest = Fastest();
  if (fastest == 0 || !Runs(0)) return fastest;
  const int64_t enough = std::max(ErrorNs(0) + ErrorNs(fastest), StepNs(0) * kLeastPermille / 1000);
  return StepNs(0) - StepNs(fastest) > enough ? fastest : 0;
}

}  // namespace commsched::runtime::core
