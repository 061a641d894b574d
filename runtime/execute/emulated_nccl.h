// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL of one rank in emulation: collectives in the order of their numbers, one at a time, each for
// as long as the plan's cluster says. When all ranks have come to one is found out by its meeting
// (NcclProgram::meeting); from then on, and from the end of the one before, its time counts, whenever
// the thread wakes up.
#ifndef COMMSCHED_RUNTIME_EXECUTE_EMULATED_NCCL_H
#define COMMSCHED_RUNTIME_EXECUTE_EMULATED_NCCL_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/base/sync.h"
#include "runtime/base/time.h"

namespace commsched::runtime {

class EmulatedNccl {
 public:
  struct Collective {
    void *call = nullptr;  // for who is told
    uint64_t number = 0;   // of the call
    uint32_t place = 0;    // NcclProgram::number
    uint32_t instruction = 0;
    int64_t nanoseconds = 0;
  };
  // From its thread, without its lock.
  using Done = std::function<void(const Collective &, Clock::time_point begin, Clock::time_point end)>;

  // Once `ended` is set, which outlives it, nothing is waited for.
  EmulatedNccl(Done done, const std::atomic<bool> *ended);
  ~EmulatedNccl();  // drops what has not ended

  // Thread-safe. In the order of calls: one begins that has so many collectives.
  void BeginCall(uint64_t number, uint32_t collectives);
  // Thread-safe. All ranks have come to it.
  void Met(const Collective &collective);

 private:
  struct OfCall {
    uint64_t number = 0;
    uint32_t next = 0;  // to be taken
    struct Arrival {
      Collective collective;
      Clock::time_point at;
    };
    std::vector<std::optional<Arrival>> met;  // by place
  };
  void Loop();
  bool MayBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !calls_.empty() && calls_.front().met[calls_.front().next].has_value();
  }

  const Done done_;
  const std::atomic<bool> *const ended_;
  Mutex mu_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<OfCall> calls_ ABSL_GUARDED_BY(mu_);  // that have collectives left
  std::thread thread_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_EMULATED_NCCL_H
