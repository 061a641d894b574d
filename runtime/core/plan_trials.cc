// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/plan_trials.h"

#include <algorithm>
#include <cmath>

namespace commsched::runtime::core {

namespace {

void Insert(int64_t value, std::vector<int64_t> *sorted) {
  sorted->insert(std::upper_bound(sorted->begin(), sorted->end(), value), value);
}
// 0 of none.
int64_t LowerMedian(const std::vector<int64_t> &sorted) {
  return sorted.empty() ? 0 : sorted[(sorted.size() - 1) / 2];
}

}  // namespace

void PlanTrials::Measured(size_t plan, int64_t step_ns, int64_t error_ns) {
  Insert(step_ns, &plans_[plan].trials);
  Insert(error_ns, &plans_[plan].errors);
}

int64_t PlanTrials::StepNs(size_t plan) const { return LowerMedian(plans_[plan].trials); }

int64_t PlanTrials::ErrorNs(size_t plan) const {
  const std::vector<int64_t> &trials = plans_[plan].trials;
  std::vector<int64_t> apart;
  for (size_t i = 1; i < trials.size(); ++i) apart.push_back((trials[i] - trials[i - 1] + 1) / 2);
  const auto least = std::min_element(apart.begin(), apart.end());
  const int64_t told = std::llround(double(LowerMedian(plans_[plan].errors)) / std::max(1.0, std::sqrt(double(trials.size())) / kErrors));
  return std::max(told, least == apart.end() ? 0 : *least);
}

size_t PlanTrials::Fastest() const {
  size_t fastest = plans_.size();
  for (size_t plan = 0; plan < plans_.size(); ++plan)
    if (Runs(plan) && (fastest == plans_.size() || StepNs(plan) < StepNs(fastest))) fastest = plan;
  return fastest;
}

bool PlanTrials::MayReplaceFirst(size_t plan) const {
  if (!Runs(0)) return true;
  const int64_t gain = StepNs(0) + ErrorNs(0) - (StepNs(plan) - ErrorNs(plan));
  return gain > StepNs(0) * kLeastPermille / 1000;
}

std::optional<size_t> PlanTrials::Next() const {
  for (size_t plan = 0; plan < plans_.size(); ++plan)
    if (!plans_[plan].refused && plans_[plan].trials.empty()) return plan;
  const size_t fastest = Fastest();
  const int64_t at_most = StepNs(fastest) + ErrorNs(fastest);
  size_t fewest = kMostTrials;
  std::optional<size_t> next;
  int may_be = 0;
  bool may_change = !Runs(0);
  for (size_t plan = 0; plan < plans_.size(); ++plan) {
    if (!Runs(plan)) continue;
    const bool once = plans_[plan].trials.size() == 1 && StepNs(plan) < StepNs(fastest) * (100 + kClearlyPercent) / 100;
    if (!once && StepNs(plan) - ErrorNs(plan) > at_most) continue;
    ++may_be;
    const bool may_replace = plan != 0 && (once || MayReplaceFirst(plan));
    may_change |= may_replace;
    if ((plan != 0 && !may_replace) || plans_[plan].trials.size() >= fewest) continue;
    fewest = plans_[plan].trials.size();
    next = plan;
  }
  return may_be > 1 && may_change ? next : std::nullopt;
}

size_t PlanTrials::Kept() const {
  const size_t fastest = Fastest();
  if (fastest == 0 || !Runs(0)) return fastest;
  const int64_t error = std::llround(std::hypot(double(ErrorNs(0)), double(ErrorNs(fastest))));
  const int64_t enough = std::max(error / 2, StepNs(0) * kLeastPermille / 1000);
  return StepNs(0) - StepNs(fastest) > enough ? fastest : 0;
}

}  // namespace commsched::runtime::core
