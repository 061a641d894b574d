// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long to rest between looks at something that cannot wake its reader.
#ifndef COMMSCHED_RUNTIME_BASE_BACKOFF_H
#define COMMSCHED_RUNTIME_BASE_BACKOFF_H

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/base/sync.h"

namespace commsched::runtime {

// At first it only yields, for as long as a short message takes, or as what it is
// told; then pauses double up to a longest one. For one thread.
class Backoff {
 public:
  // For as long as a short message takes.
  static constexpr Clock::duration kYielding = std::chrono::microseconds(60);

  explicit Backoff(Clock::duration longest) : longest_(longest) {}

  // There was something: the next look counts as the first.
  void Found() { found_ = true; }

  // After a look at `now`. Zero: to look again or to yield, else the pause.
  Clock::duration Next(Clock::time_point now, Clock::duration yielding = kYielding) {
    if (found_) {
      found_ = false;
      since_ = now;
      pause_ = kFirst;
      return Clock::duration::zero();
    }
    if (now - since_ < yielding) return Clock::duration::zero();
    const Clock::duration pause = pause_;
    pause_ = std::min(longest_, 2 * pause_);
    return pause;
  }

  // After a look; `found`: there was something. Rests.
  void Rest(bool found) {
    if (found) Found();
    const Clock::duration pause = Next(Clock::now());
    if (pause == Clock::duration::zero()) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  static constexpr Clock::duration kFirst = std::chrono::microseconds(4);

  const Clock::duration longest_;
  bool found_ = false;
  Clock::time_point since_{};
  Clock::duration pause_ = kFirst;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_BACKOFF_H
