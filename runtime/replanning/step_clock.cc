// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/step_clock.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"

namespace commsched::runtime {

StepClock::StepClock(uint64_t every, double when_off_percent, uint64_t window, uint64_t least)
    : every_(every), off_(when_off_percent / 100), window_(std::max<uint64_t>(1, window)), least_(least) {}

uint64_t StepClock::DefaultWindow(uint64_t every) {
  constexpr uint64_t kLeast = 4, kMost = 20;
  return every == 0 ? kMost : std::clamp(every - std::min(every, kWarmUp), kLeast, kMost);
}

int64_t StepClock::step_ns() const {
  if (last_.empty()) return 0;
  std::vector<int64_t> sorted = last_;
  auto middle = sorted.begin() + std::ptrdiff_t((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

int64_t StepClock::error_ns() const {
  if (last_.empty()) return 0;
  std::vector<int64_t> sorted = last_;
  std::sort(sorted.begin(), sorted.end());
  const size_t quarter = (sorted.size() - 1) / 4;
  // Of normal deviations: quartiles are 1.349 of them apart, and a median's error is 1.253 over the root of n.
  const double quartiles = double(sorted[sorted.size() - 1 - quarter] - sorted[quarter]);
  return std::llround(quartiles * 0.929 / std::sqrt(double(sorted.size())));
}

bool StepClock::IsEnough() const {
  if (last_.size() >= window_) return true;
  if (least_ == 0) return false;
  if (std::accumulate(last_.begin(), last_.end(), int64_t{0}) >= kLongNs) return true;
  // Asked after each step, an error that is small by chance would be found.
  uint64_t asked = least_;
  while (asked < last_.size()) asked *= 2;
  return asked == last_.size() && error_ns() <= step_ns() / kPrecise;
}

void StepClock::Restart() {
  steps_ = measured_ = noticed_ = 0;
  reference_ = 0;
  said_ = false;
  last_.clear();
}

void StepClock::Completed(std::optional<int64_t> ns) {
  if (!ns || ++measured_ <= kWarmUp) return;
  if (last_.size() < window_)
    last_.push_back(*ns);
  else
    last_[measured_ % window_] = *ns;
}

std::optional<std::string> StepClock::Step(std::optional<int64_t> ns) {
  ++steps_;
  Completed(ns);
  if (said_ || !IsEnough()) return std::nullopt;
  const bool due = every_ != 0 && steps_ >= every_;
  if (due) {
    said_ = true;
    return absl::StrFormat("after %d steps", steps_);
  }
  if (off_ <= 0) return std::nullopt;
  const int64_t now = step_ns();
  if (reference_ == 0) reference_ = std::max<int64_t>(1, now);
  if (std::abs(double(now) / double(reference_) - 1) <= off_) {
    noticed_ = 0;  // it was for a moment
    return std::nullopt;
  }
  if (noticed_ == 0) noticed_ = steps_;
  if (steps_ < noticed_ + window_) return std::nullopt;
  said_ = true;
  return absl::StrFormat("a step takes %.3g ms, at first it took %.3g ms",
                         double(now) / 1e6, double(reference_) / 1e6);
}

}  // namespace commsched::runtime
