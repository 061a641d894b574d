// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/plan_trials.h"

#include <algorithm>
#include <cmath>

namespace commsched::runtime::core {

namespace {

constexpr double kLeast = double(PlanTrials::kLeastPermille) / 1000;

double Middle(const std::vector<double> &sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}
// How far apart those are that are next to each other, of few more than half, of many half: the others may be off by anything.
double Apart(const std::vector<double> &sorted) {
  const size_t most = std::min<size_t>(sorted.size() / 2, 3);
  double apart = sorted[most] - sorted[0];
  for (size_t i = 1; i + most < sorted.size(); ++i) apart = std::min(apart, sorted[i + most] - sorted[i]);
  return apart;
}

}  // namespace

void PlanTrials::Measured(size_t plan, int64_t step_ns, int64_t error_ns) {
  if (!turns_.empty() && turns_.back().plan == plan) return MeasuredLonger(plan, step_ns, error_ns);
  plans_[plan].turns.push_back(step_ns);
  turns_.push_back({plan, step_ns, error_ns});
  if (!challenger_)
    Challenge();
  else
    Settle(Judge());
}

void PlanTrials::MeasuredLonger(size_t plan, int64_t step_ns, int64_t error_ns) {
  if (turns_.empty() || turns_.back().plan != plan) return;
  Turn &last = turns_.back();
  plans_[last.plan].turns.back() = last.step_ns = step_ns;
  last.error_ns = error_ns;
}

void PlanTrials::Refused(size_t plan, size_t running) {
  plans_[plan].refused = true;
  if (plan == held_) {
    held_ = running;
    turns_.clear();
    if (challenger_ == running) Challenge();
  } else if (challenger_ == plan) {
    Settle(Verdict::kLoses);
  }
}

void PlanTrials::Challenge() {
  challenger_.reset();
  while (++challenged_ < plans_.size() && plans_[challenged_].refused) {
  }
  if (challenged_ < plans_.size()) challenger_ = challenged_;
}

void PlanTrials::Settle(Verdict verdict) {
  if (verdict == Verdict::kUnknown) return;
  if (verdict == Verdict::kWins) held_ = *challenger_;
  // Its last turn is the first of the next challenge too, if nothing has run since.
  const bool goes_on = !turns_.empty() && turns_.back().plan == held_;
  turns_.erase(turns_.begin(), goes_on ? turns_.end() - 1 : turns_.end());
  Challenge();
}

PlanTrials::Verdict PlanTrials::Judge() const {
  const size_t differences = turns_.size() - 1;
  std::vector<double> gains;  // of the challenger, as a part of a step
  double told = 0;            // variance of a difference
  for (size_t i = 0; i < differences; ++i) {
    const bool first = turns_[i].plan == *challenger_;
    const Turn &challenger = turns_[first ? i : i + 1], &held = turns_[first ? i + 1 : i];
    const double whole = double(std::max<int64_t>(1, held.step_ns));
    gains.push_back(double(held.step_ns - challenger.step_ns) / whole);
    told += std::pow(std::hypot(double(held.error_ns), double(challenger.error_ns)) / whole, 2) / double(differences);
  }
  if (gains.empty()) return Verdict::kUnknown;
  std::sort(gains.begin(), gains.end());
  // As many turns of the one as neighbours of the other.
  if (turns_.back().plan != held_) return Verdict::kUnknown;
  if (gains.back() < -double(kClearlyPercent) / 100) return Verdict::kLoses;
  if (differences < 4) return Verdict::kUnknown;
  const double gain = Middle(gains);
  // Half of what is normally distributed is within 1.349 of its deviation. Each turn but the first and last is in two differences,
  // so that those tell as much of their middle as there are pairs.
  const double pairs = double(differences) / 2;
  const double error = std::max(Apart(gains) / 1.349, std::sqrt(told)) / std::sqrt(pairs);
  if (gain + kErrors * error < kLeast) return Verdict::kLoses;
  if (gain - kErrors * error > kLeast) return Verdict::kWins;
  if (pairs < kMostTurns) return Verdict::kUnknown;
  return gain > std::max(error / 2, kLeast) ? Verdict::kWins : Verdict::kLoses;
}

std::optional<size_t> PlanTrials::Next() const {
  if (!challenger_) return turns_.empty() && plans_[held_].turns.empty() ? std::optional(held_) : std::nullopt;
  const bool of_held = turns_.empty() || turns_.back().plan != held_;
  return of_held ? held_ : *challenger_;
}

int64_t PlanTrials::StepNs(size_t plan) const {
  std::vector<int64_t> sorted = plans_[plan].turns;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0 : sorted[(sorted.size() - 1) / 2];
}

}  // namespace commsched::runtime::core
