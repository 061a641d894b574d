// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When ops have begun and ended on a device: by events of the driver before and behind each, against an event at a
// known time of the host. The host's clock and the device's are compared at the beginning, and where nothing has been
// under way for half a minute; else both go on by themselves, and drift apart as clocks do.
//
// Events have steps of half a microsecond, and their distance is a float: so there is a new event to count from
// every few seconds, and how long an op takes is asked of its own two events.
//
// Before and Behind may be called by one thread while another calls Take of an earlier call; Start when nothing is
// being enqueued. All have the device's context current.
#ifndef COMMSCHED_RUNTIME_CUDA_OP_TIMES_H
#define COMMSCHED_RUNTIME_CUDA_OP_TIMES_H

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/sync.h"
#include "runtime/base/time.h"
#include "runtime/cuda/driver_api.h"

namespace commsched::runtime::cuda {

class OpTimes {
 public:
  // `driver` outlives it. `deadline`: for the device to come to an event that nothing is before.
  // `now`: the host's clock, which may be null: the steady clock.
  OpTimes(const DriverApi &driver, absl::Duration deadline, std::function<Time()> now)
      : driver_(driver), deadline_(deadline), now_(std::move(now)) {}
  OpTimes(const OpTimes &) = delete;
  // What was enqueued must have ended, or been aborted.
  ~OpTimes();

  // Before the ops of a call are enqueued. The first one makes what is needed, and waits for the device, as one does
  // every few seconds.
  absl::Status Start(uint64_t call);
  // What the op is goes on the stream between these two.
  absl::Status Before(uint64_t call, uint32_t op, Stream stream);
  absl::Status Behind(uint64_t call, Stream stream);

  struct Interval {
    uint32_t op = 0;
    // `nanoseconds` is more exact than their distance. Of intervals on a stream none begins more than a nanosecond
    // before the one before it ends.
    Clock::time_point begin, end;
    int64_t nanoseconds = 0;
  };
  // Of a call whose ops have all been enqueued and have ended, in the order in which they were enqueued; none of a
  // call that was not started. It is forgotten.
  absl::StatusOr<std::vector<Interval>> Take(uint64_t call);

 private:
  struct Op {
    uint32_t op = 0;
    Event begin = nullptr, end = nullptr;
  };
  // An event, and when it was.
  struct Reference {
    Event event = nullptr;
    Clock::time_point at;
    uint32_t calls = 0;  // that count from it
  };
  struct Call {
    uint64_t reference = 0;
    std::vector<Op> ops;
  };

  Clock::time_point Now() const { return now_ ? FromTime(now_()) : Clock::now(); }
  absl::Status Refer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Event> TakeEvent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<int64_t> Nanoseconds(Event begin, Event end) const;
  void Forget(std::map<uint64_t, Call>::iterator call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const DriverApi &driver_;
  const absl::Duration deadline_;
  const std::function<Time()> now_;
  Mutex mu_;
  Stream stream_ ABSL_GUARDED_BY(mu_) = nullptr;                   // on which there is nothing else
  std::map<uint64_t, Reference> references_ ABSL_GUARDED_BY(mu_);  // by number; the last one is in use
  uint64_t made_ ABSL_GUARDED_BY(mu_) = 0;
  Clock::time_point referred_ ABSL_GUARDED_BY(mu_);  // when, by the host
  std::map<uint64_t, Call> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<Event> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_OP_TIMES_H
