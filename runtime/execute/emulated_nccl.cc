// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/emulated_nccl.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/precise_sleep.h"

namespace commsched::runtime {

EmulatedNccl::EmulatedNccl(Done done, const std::atomic<bool> *ended)
    : done_(std::move(done)), ended_(ended), thread_([this] { Loop(); }) {}

EmulatedNccl::~EmulatedNccl() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    changed_.Signal();
  }
  thread_.join();
}

void EmulatedNccl::BeginCall(uint64_t number, uint32_t collectives) {
  if (collectives == 0) return;
  MutexLock lock(&mu_);
  OfCall &call = calls_.emplace_back();
  call.number = number;
  call.met.resize(collectives);
}

void EmulatedNccl::Met(const Collective &collective) {
  MutexLock lock(&mu_);
  for (OfCall &call : calls_)
    if (call.number == collective.number)
      call.met[collective.place] = {collective, Clock::now()};
  changed_.Signal();
}

void EmulatedNccl::Loop() {
  UsePreciseTimers();
  Clock::time_point free;  // when the one before was to end
  mu_.Lock();
  for (;;) {
    while (!stop_ && !MayBegin()) changed_.Wait(&mu_);
    if (stop_) break;
    OfCall &call = calls_.front();
    const OfCall::Arrival arrival = *call.met[call.next];
    if (++call.next == call.met.size()) calls_.pop_front();
    mu_.Unlock();
    const Clock::time_point begin = std::max(free, arrival.at);
    free = begin + std::chrono::nanoseconds(arrival.collective.nanoseconds);
    SleepUntil(free, *ended_);
    done_(arrival.collective, begin, free);
    mu_.Lock();
  }
  mu_.Unlock();
}

}  // namespace commsched::runtime
