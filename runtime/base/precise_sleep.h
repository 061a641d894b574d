// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting for a point in time, for emulated devices.
#ifndef COMMSCHED_RUNTIME_BASE_PRECISE_SLEEP_H
#define COMMSCHED_RUNTIME_BASE_PRECISE_SLEEP_H

#include <atomic>

#include "runtime/base/sync.h"

namespace commsched::runtime {

// Has the system wake the calling thread without the slack (50 us) that it
// gives itself otherwise.
void UsePreciseTimers();

// Waits until `due`; returns at once if that has passed, and within 0.1 s once
// `ended` is set. Sleeps, so that other devices get the processor; only waits of
// less than 60 us, the time that sleeping takes, yield it instead.
void SleepUntil(Clock::time_point due, const std::atomic<bool> &ended);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_PRECISE_SLEEP_H
