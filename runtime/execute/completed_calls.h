// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many calls each of several executors has completed. What has been
// completed by all is what they can go back to together after an error
// (Executor::GoBack): so an executor keeps what it had then.
#ifndef COMMSCHED_RUNTIME_EXECUTE_COMPLETED_CALLS_H
#define COMMSCHED_RUNTIME_EXECUTE_COMPLETED_CALLS_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace commsched::runtime {

// Thread-safe.
class CompletedCalls {
 public:
  explicit CompletedCalls(size_t executors) : calls_(executors) {}

  // Of one executor: calls 0 .. calls - 1. Does not decrease.
  void Set(size_t executor, uint64_t calls) {
    calls_[executor].store(calls, std::memory_order_release);
  }
  uint64_t OfAll() const {
    uint64_t calls = ~uint64_t{0};
    for (const std::atomic<uint64_t> &own : calls_)
      calls = std::min(calls, own.load(std::memory_order_acquire));
    return calls;
  }

 private:
  std::vector<std::atomic<uint64_t>> calls_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_COMPLETED_CALLS_H
