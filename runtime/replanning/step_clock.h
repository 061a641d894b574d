// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a run of a plan is to be planned anew, by the time that its steps take.
#ifndef COMMSCHED_RUNTIME_REPLANNING_STEP_CLOCK_H
#define COMMSCHED_RUNTIME_REPLANNING_STEP_CLOCK_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace commsched::runtime {

// Not thread-safe.
class StepClock {
 public:
  // The steps that are measured where nobody says how many: so that the first new plan comes after `every` steps (0: it
  // does not come for that), but of few too little would be known.
  static uint64_t DefaultWindow(uint64_t every);

  // `least`: fewer steps than `window` are enough, this many, twice as many and so on, once the median of them is known to
  // a quarter of a percent, or those that have taken 2 seconds; 0: they are not.
  StepClock(uint64_t every, double when_off_percent, uint64_t window, uint64_t least = 0);

  // A step begins, and since the last one was asked about, one has taken `ns`; nothing if none has ended. Returns
  // why it is time for a new plan, once, when it is: the last `window` steps are then all as they are now.
  std::optional<std::string> Step(std::optional<int64_t> ns);
  // The same where something else than a step begins.
  void Completed(std::optional<int64_t> ns);
  // Another plan runs, or the same one is to be looked at afresh.
  void Restart();
  // Median of the last steps; 0 if there are none.
  int64_t step_ns() const;
  // Standard error of that median, as far as the quartiles of few steps tell; 0 if there are none.
  int64_t error_ns() const;

 private:
  // Steps of a plan that do not count: they fill its pipeline.
  static constexpr uint64_t kWarmUp = 2;
  static constexpr int64_t kPrecise = 400;           // of a step: so many times the error
  static constexpr int64_t kLongNs = 2'000'000'000;  // of steps together

  // Whether enough is measured.
  bool IsEnough() const;

  const uint64_t every_;
  const double off_;
  const uint64_t window_, least_;
  uint64_t steps_ = 0;     // since the beginning
  uint64_t measured_ = 0;  // of them
  uint64_t noticed_ = 0;   // step after which it was off; 0: it is not
  int64_t reference_ = 0;  // ns; 0: not known yet
  bool said_ = false;
  std::vector<int64_t> last_;  // ns, a ring
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_STEP_CLOCK_H
