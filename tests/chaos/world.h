// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes on a virtual clock: they can be killed, stopped, and started again. What a
// random seed does can be done again.
#ifndef COMMSCHED_TESTS_CHAOS_WORLD_H
#define COMMSCHED_TESTS_CHAOS_WORLD_H

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/time.h"

namespace commsched::runtime::core {

inline constexpr Time kSecond = 1'000'000'000, kMillisecond = kSecond / 1000;
// Of a broken connection, at most.
inline constexpr Time kDetection = 2 * kSecond;

class World {
 public:
  // Until nothing happens any more, or `limit`.
  void Run(Time limit);
  // A fault of which the job may end was injected.
  bool may_fail() const { return may_fail_; }
  const std::vector<std::string> &trace() const { return trace_; }

 protected:
  struct Process {
    bool alive = true, ended = false;
    uint64_t incarnation = 0;  // of its events
    Time stopped_until = 0;
    std::string error;  // with which it ended
  };

  explicit World(uint64_t seed) : random_(seed) {}
  ~World() = default;

  // Calls `then` after a random time, of a process: when it is not stopped, if it lives.
  void Later(Process *process, Time most, std::function<void()> then);
  void At(Time time, Process *process, std::function<void()> then);
  void Stop(Time at, Process *process, const std::string &name, Time length);
  void Note(const std::string &what);
  Time Random(Time most) { return Time(random_() % uint64_t(most + 1)); }

  std::mt19937_64 random_;
  Time now_ = 0;
  bool may_fail_ = false;
  std::vector<std::string> wrong_;  // what no fault explains

 private:
  struct Event {
    Time time;
    uint64_t order;
    std::function<void()> then;
    bool operator<(const Event &other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  void Push(Time time, uint64_t order, Process *process, uint64_t incarnation,
            std::function<void()> then);

  uint64_t next_event_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::string> trace_;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_TESTS_CHAOS_WORLD_H
