// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long nothing has happened, of the time in which this process ran. While a
// process is stopped (SIGSTOP, a debugger, a machine that does something else)
// the clock goes on, but nothing can happen: all its ranks would find the
// deadline over when it goes on, before any of them could do anything.
//
// So one looks at it often, and what lies between two looks counts for no more
// than twice the time after which the next was due. Not for several threads.
#ifndef COMMSCHED_RUNTIME_BASE_STALL_CLOCK_H
#define COMMSCHED_RUNTIME_BASE_STALL_CLOCK_H

#include <algorithm>

#include "runtime/base/sync.h"

namespace commsched::runtime {

class StallClock {
 public:
  // Of deadlines of this length, more or less.
  explicit StallClock(Clock::duration deadline,
                      Clock::time_point now = Clock::now())
      : interval_(std::max<Clock::duration>(deadline / 16,
                                            std::chrono::microseconds(100))),
        looked_(now) {}

  // Something happens.
  void Progress(Clock::time_point now = Clock::now()) {
    idle_ = Clock::duration::zero();
    looked_ = now;
  }
  // For how long nothing has; a look.
  Clock::duration Idle(Clock::time_point now = Clock::now()) {
    idle_ += std::clamp(now - looked_, Clock::duration::zero(), 2 * interval_);
    looked_ = now;
    return idle_;
  }
  // The last look or progress.
  Clock::time_point looked() const { return looked_; }
  // When to look again, of a deadline that is not over.
  Clock::time_point NextLook(Clock::duration deadline) const {
    return looked_ + std::clamp(deadline - idle_, Clock::duration::zero(), interval_);
  }

 private:
  const Clock::duration interval_;
  Clock::duration idle_ = Clock::duration::zero();
  Clock::time_point looked_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_STALL_CLOCK_H
