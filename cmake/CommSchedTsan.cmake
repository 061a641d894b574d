# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Debian's Abseil is not built with the thread sanitizer, which therefore cannot
# see that absl::Mutex orders accesses. Every call of our own code to it goes
# through a wrapper that says so.
set(mutex _ZN4absl7debian35Mutex)
set(condition ERKNS0_9ConditionE)
set(condition_variable _ZN4absl7debian37CondVar)
set(notification _ZN4absl7debian312Notification)
set(notification_const _ZNK4absl7debian312Notification)
set(counter _ZN4absl7debian315BlockingCounter)
foreach(symbol IN ITEMS
    ${mutex}4LockEv
    ${mutex}6UnlockEv
    ${mutex}7TryLockEv
    ${mutex}10ReaderLockEv
    ${mutex}12ReaderUnlockEv
    ${mutex}5Await${condition}
    ${mutex}16AwaitWithTimeout${condition}NS0_8DurationE
    ${mutex}17AwaitWithDeadline${condition}NS0_4TimeE
    ${mutex}8LockWhen${condition}
    ${mutex}19LockWhenWithTimeout${condition}NS0_8DurationE
    ${mutex}20LockWhenWithDeadline${condition}NS0_4TimeE
    ${mutex}D1Ev
    ${condition_variable}4WaitEPNS0_5MutexE
    ${condition_variable}15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE
    ${condition_variable}16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE
    ${notification}6NotifyEv
    ${notification_const}19WaitForNotificationEv
    ${notification_const}30WaitForNotificationWithTimeoutENS0_8DurationE
    ${notification_const}31WaitForNotificationWithDeadlineENS0_4TimeE
    ${counter}14DecrementCountEv
    ${counter}4WaitEv)
  add_link_options(LINKER:--wrap=${symbol})
endforeach()
add_library(commsched_tsan_mutex STATIC ${CMAKE_SOURCE_DIR}/tests/sanitizers/tsan_mutex.cc)
link_libraries(commsched_tsan_mutex)
