// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The callbacks of a lane that have not returned.
#ifndef COMMSCHED_RUNTIME_REPLANNING_PENDING_CALLS_H
#define COMMSCHED_RUNTIME_REPLANNING_PENDING_CALLS_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

namespace commsched::runtime {

// Thread-safe. May be gone before its callbacks are.
class PendingCalls {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // The same callback, which is pending until it has returned and what it holds is gone.
  Done Counted(Done done) {
    count_->fetch_add(1, std::memory_order_relaxed);
    return [count = count_, done = std::move(done)](absl::Status status) mutable {
      done(std::move(status));
      done = nullptr;
      count->fetch_sub(1, std::memory_order_release);
    };
  }

  // Until none is pending.
  void Wait() const {
    while (count_->load(std::memory_order_acquire) != 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  const std::shared_ptr<std::atomic<int64_t>> count_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_PENDING_CALLS_H
