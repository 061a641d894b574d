// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutex, lock and condition variable over the C++ standard library, with
// Abseil's thread annotations. Not absl::Mutex: the distribution's Abseil is
// built without the thread sanitizer, which then cannot see its locks.
#ifndef COMMSCHED_RUNTIME_BASE_SYNC_H
#define COMMSCHED_RUNTIME_BASE_SYNC_H

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "runtime/base/time.h"

namespace commsched::runtime {

using Clock = std::chrono::steady_clock;

// `duration` from now on: a year at most, so that the clock does not overflow.
inline Clock::time_point After(absl::Duration duration) {
  duration = std::clamp(duration, absl::ZeroDuration(), absl::Hours(24 * 365));
  return Clock::now() + absl::ToChronoNanoseconds(duration);
}

// For the machines of runtime/core, which know no clock.
inline Time ToTime(Clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}
inline Clock::time_point FromTime(Time time) {
  return Clock::time_point(std::chrono::nanoseconds(time));
}

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex *mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    mu_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }
  MutexLock(const MutexLock &) = delete;
  MutexLock &operator=(const MutexLock &) = delete;

 private:
  Mutex *mu_;
};

// Wakes up without cause now and then, like any condition variable: callers
// wait in a loop. The mutex is held on entry and on return.
class CondVar {
 public:
  void Wait(Mutex *mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // Returns true if `deadline` has passed.
  bool WaitUntil(Mutex *mu, Clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    bool late = cv_.wait_until(lock, deadline) == std::cv_status::timeout;
    lock.release();
    return late;
  }
  void Signal() { cv_.notify_one(); }
  void SignalAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

// Callers that wait for conditions of what a mutex guards. Whoever changes something
// wakes those whose condition is true now, and nobody else: a condition variable that
// many changes notify wakes all who wait, at each of them. The mutex is held at all calls.
class Waiters {
 public:
  // Returns whether `condition` is true; false if `deadline` has passed before. It is called
  // with the mutex held, by any thread.
  bool Await(Mutex *mu, absl::FunctionRef<bool()> condition,
             Clock::time_point deadline = Clock::time_point::max()) {
    if (condition()) return true;
    Waiter waiter{condition, {}};
    waiters_.push_back(&waiter);
    bool late = false;
    while (!condition() && !late) {
      if (deadline == Clock::time_point::max())
        waiter.woken.Wait(mu);
      else
        late = waiter.woken.WaitUntil(mu, deadline);
    }
    std::erase(waiters_, &waiter);
    return !late || condition();
  }
  void Changed() {
    for (Waiter *waiter : waiters_)
      if (waiter->condition()) waiter->woken.Signal();
  }

 private:
  struct Waiter {
    absl::FunctionRef<bool()> condition;
    CondVar woken;
  };
  std::vector<Waiter *> waiters_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_SYNC_H
