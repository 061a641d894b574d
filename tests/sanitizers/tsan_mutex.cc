// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the thread sanitizer what the functions of Abseil named in
// cmake/CommSchedTsan.cmake do: the linker sends our calls of F to __wrap_F.
//
// Between pre_* and post_* the sanitizer ignores the thread, so that a
// Condition that Abseil evaluates while it holds the lock is not reported.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace {
void PreLock(absl::Mutex* mu) { __tsan_mutex_pre_lock(mu, 0); }
void PostLock(absl::Mutex* mu) { __tsan_mutex_post_lock(mu, 0, 0); }
void PreUnlock(absl::Mutex* mu) { __tsan_mutex_pre_unlock(mu, 0); }
void PostUnlock(absl::Mutex* mu) { __tsan_mutex_post_unlock(mu, 0); }

// A wait on a held mutex: to the sanitizer, an unlock and a lock.
template <typename Wait>
auto WhileWaiting(absl::Mutex* mu, Wait wait) {
  PreUnlock(mu);
  PostUnlock(mu);
  PreLock(mu);
  struct Relock {
    absl::Mutex* mu;
    ~Relock() { PostLock(mu); }
  } relock{mu};
  return wait();
}

template <typename Lock>
auto WhileLocking(absl::Mutex* mu, Lock lock) {
  PreLock(mu);
  struct Locked {
    absl::Mutex* mu;
    ~Locked() { PostLock(mu); }
  } locked{mu};
  return lock();
}
}  // namespace

#define MUTEX(name) _ZN4absl7debian35Mutex##name
#define CONDVAR(name) _ZN4absl7debian37CondVar##name
#define NOTIFICATION(name) _ZN4absl7debian312Notification##name
#define NOTIFICATION_CONST(name) _ZNK4absl7debian312Notification##name
#define COUNTER(name) _ZN4absl7debian315BlockingCounter##name
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define REAL(symbol) CAT(__real_, symbol)
#define WRAP(symbol) CAT(__wrap_, symbol)

extern "C" {
#define LOCK MUTEX(4LockEv)
void REAL(LOCK)(absl::Mutex* mu);
void WRAP(LOCK)(absl::Mutex* mu) {
  WhileLocking(mu, [&] { REAL(LOCK)(mu); });
}

#define UNLOCK MUTEX(6UnlockEv)
void REAL(UNLOCK)(absl::Mutex* mu);
void WRAP(UNLOCK)(absl::Mutex* mu) {
  PreUnlock(mu);
  REAL(UNLOCK)(mu);
  PostUnlock(mu);
}

#define TRY_LOCK MUTEX(7TryLockEv)
bool REAL(TRY_LOCK)(absl::Mutex* mu);
bool WRAP(TRY_LOCK)(absl::Mutex* mu) {
  __tsan_mutex_pre_lock(mu, __tsan_mutex_try_lock);
  const bool locked = REAL(TRY_LOCK)(mu);
  __tsan_mutex_post_lock(
      mu, __tsan_mutex_try_lock | (locked ? 0 : __tsan_mutex_try_lock_failed),
      0);
  return locked;
}

#define READER_LOCK MUTEX(10ReaderLockEv)
void REAL(READER_LOCK)(absl::Mutex* mu);
void WRAP(READER_LOCK)(absl::Mutex* mu) {
  __tsan_mutex_pre_lock(mu, __tsan_mutex_read_lock);
  REAL(READER_LOCK)(mu);
  __tsan_mutex_post_lock(mu, __tsan_mutex_read_lock, 0);
}

#define READER_UNLOCK MUTEX(12ReaderUnlockEv)
void REAL(READER_UNLOCK)(absl::Mutex* mu);
void WRAP(READER_UNLOCK)(absl::Mutex* mu) {
  __tsan_mutex_pre_unlock(mu, __tsan_mutex_read_lock);
  REAL(READER_UNLOCK)(mu);
  __tsan_mutex_post_unlock(mu, __tsan_mutex_read_lock);
}

#define AWAIT MUTEX(5AwaitERKNS0_9ConditionE)
void REAL(AWAIT)(absl::Mutex* mu, const absl::Condition& condition);
void WRAP(AWAIT)(absl::Mutex* mu, const absl::Condition& condition) {
  WhileWaiting(mu, [&] { REAL(AWAIT)(mu, condition); });
}

#define AWAIT_TIMEOUT \
  MUTEX(16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE)
bool REAL(AWAIT_TIMEOUT)(absl::Mutex* mu, const absl::Condition& condition,
                         absl::Duration timeout);
bool WRAP(AWAIT_TIMEOUT)(absl::Mutex* mu, const absl::Condition& condition,
                         absl::Duration timeout) {
  return WhileWaiting(
      mu, [&] { return REAL(AWAIT_TIMEOUT)(mu, condition, timeout); });
}

#define AWAIT_DEADLINE MUTEX(17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE)
bool REAL(AWAIT_DEADLINE)(absl::Mutex* mu, const absl::Condition& condition,
                          absl::Time deadline);
bool WRAP(AWAIT_DEADLINE)(absl::Mutex* mu, const absl::Condition& condition,
                          absl::Time deadline) {
  return WhileWaiting(
      mu, [&] { return REAL(AWAIT_DEADLINE)(mu, condition, deadline); });
}

#define LOCK_WHEN MUTEX(8LockWhenERKNS0_9ConditionE)
void REAL(LOCK_WHEN)(absl::Mutex* mu, const absl::Condition& condition);
void WRAP(LOCK_WHEN)(absl::Mutex* mu, const absl::Condition& condition) {
  WhileLocking(mu, [&] { REAL(LOCK_WHEN)(mu, condition); });
}

#define LOCK_WHEN_TIMEOUT \
  MUTEX(19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE)
bool REAL(LOCK_WHEN_TIMEOUT)(absl::Mutex* mu, const absl::Condition& condition,
                             absl::Duration timeout);
bool WRAP(LOCK_WHEN_TIMEOUT)(absl::Mutex* mu, const absl::Condition& condition,
                             absl::Duration timeout) {
  return WhileLocking(
      mu, [&] { return REAL(LOCK_WHEN_TIMEOUT)(mu, condition, timeout); });
}

#define LOCK_WHEN_DEADLINE \
  MUTEX(20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE)
bool REAL(LOCK_WHEN_DEADLINE)(absl::Mutex* mu, const absl::Condition& condition,
                              absl::Time deadline);
bool WRAP(LOCK_WHEN_DEADLINE)(absl::Mutex* mu, const absl::Condition& condition,
                              absl::Time deadline) {
  return WhileLocking(
      mu, [&] { return REAL(LOCK_WHEN_DEADLINE)(mu, condition, deadline); });
}

#define MUTEX_DESTROY MUTEX(D1Ev)
void REAL(MUTEX_DESTROY)(absl::Mutex* mu);
void WRAP(MUTEX_DESTROY)(absl::Mutex* mu) {
  __tsan_mutex_destroy(mu, 0);
  REAL(MUTEX_DESTROY)(mu);
}

#define WAIT CONDVAR(4WaitEPNS0_5MutexE)
void REAL(WAIT)(absl::CondVar* cv, absl::Mutex* mu);
void WRAP(WAIT)(absl::CondVar* cv, absl::Mutex* mu) {
  WhileWaiting(mu, [&] { REAL(WAIT)(cv, mu); });
}

#define WAIT_TIMEOUT CONDVAR(15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)
bool REAL(WAIT_TIMEOUT)(absl::CondVar* cv, absl::Mutex* mu,
                        absl::Duration timeout);
bool WRAP(WAIT_TIMEOUT)(absl::CondVar* cv, absl::Mutex* mu,
                        absl::Duration timeout) {
  return WhileWaiting(mu, [&] { return REAL(WAIT_TIMEOUT)(cv, mu, timeout); });
}

#define WAIT_DEADLINE CONDVAR(16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)
bool REAL(WAIT_DEADLINE)(absl::CondVar* cv, absl::Mutex* mu,
                         absl::Time deadline);
bool WRAP(WAIT_DEADLINE)(absl::CondVar* cv, absl::Mutex* mu,
                         absl::Time deadline) {
  return WhileWaiting(mu,
                      [&] { return REAL(WAIT_DEADLINE)(cv, mu, deadline); });
}

#define NOTIFY NOTIFICATION(6NotifyEv)
void REAL(NOTIFY)(absl::Notification* n);
void WRAP(NOTIFY)(absl::Notification* n) {
  __tsan_release(n);
  REAL(NOTIFY)(n);
}

#define NOTIFIED NOTIFICATION_CONST(19WaitForNotificationEv)
void REAL(NOTIFIED)(const absl::Notification* n);
void WRAP(NOTIFIED)(const absl::Notification* n) {
  REAL(NOTIFIED)(n);
  __tsan_acquire(const_cast<absl::Notification*>(n));
}

#define NOTIFIED_TIMEOUT \
  NOTIFICATION_CONST(30WaitForNotificationWithTimeoutENS0_8DurationE)
bool REAL(NOTIFIED_TIMEOUT)(const absl::Notification* n, absl::Duration d);
bool WRAP(NOTIFIED_TIMEOUT)(const absl::Notification* n, absl::Duration d) {
  const bool notified = REAL(NOTIFIED_TIMEOUT)(n, d);
  if (notified) __tsan_acquire(const_cast<absl::Notification*>(n));
  return notified;
}

#define NOTIFIED_DEADLINE \
  NOTIFICATION_CONST(31WaitForNotificationWithDeadlineENS0_4TimeE)
bool REAL(NOTIFIED_DEADLINE)(const absl::Notification* n, absl::Time t);
bool WRAP(NOTIFIED_DEADLINE)(const absl::Notification* n, absl::Time t) {
  const bool notified = REAL(NOTIFIED_DEADLINE)(n, t);
  if (notified) __tsan_acquire(const_cast<absl::Notification*>(n));
  return notified;
}

#define DECREMENT COUNTER(14DecrementCountEv)
bool REAL(DECREMENT)(absl::BlockingCounter* c);
bool WRAP(DECREMENT)(absl::BlockingCounter* c) {
  __tsan_release(c);
  return REAL(DECREMENT)(c);
}

#define COUNTER_WAIT COUNTER(4WaitEv)
void REAL(COUNTER_WAIT)(absl::BlockingCounter* c);
void WRAP(COUNTER_WAIT)(absl::BlockingCounter* c) {
  REAL(COUNTER_WAIT)(c);
  __tsan_acquire(c);
}
}  // extern "C"
