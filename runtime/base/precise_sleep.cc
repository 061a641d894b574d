// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/precise_sleep.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>

namespace commsched::runtime {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::microseconds kSpin{60};
constexpr std::chrono::milliseconds kSlice{100};  // how often `ended` is seen

}  // namespace

void UsePreciseTimers() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

void SleepUntil(Clock::time_point due, const std::atomic<bool> &ended) {
  for (Clock::time_point now = Clock::now(); now < due && !ended;
       now = Clock::now()) {
    if (due - now < kSpin) {
      sched_yield();
      continue;
    }
    // The steady clock is CLOCK_MONOTONIC.
    int64_t until = std::chrono::duration_cast<nanoseconds>(
                        std::min(due, now + kSlice).time_since_epoch())
                        .count();
    timespec at = {time_t(until / 1000000000), long(until % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
}

}  // namespace commsched::runtime
