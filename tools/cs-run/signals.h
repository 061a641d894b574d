// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What SIGINT and SIGTERM do to a process that trains or serves: docs/running.md.
#ifndef COMMSCHED_TOOLS_CS_RUN_SIGNALS_H
#define COMMSCHED_TOOLS_CS_RUN_SIGNALS_H

#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/sync.h"

namespace commsched::run {

// "ended by signal 15 (Terminated)"
std::string EndedBy(int signal);

// Which signal of a process one is. A launcher, or `timeout`, tells a process and its
// group: what follows the first within a second is the same.
class SignalCount {
 public:
  enum Which {
    kFirst,
    kSame,
    kSecond
  };
  Which Next();

 private:
  std::chrono::steady_clock::time_point first_{};
};

// From the parent to a rank that has lost the others.
inline constexpr int kEndSignal = SIGUSR1;

// Turns signals into calls of `on_signal`. Made before any other thread, so
// that all have the signals blocked.
class SignalWatcher {
 public:
  SignalWatcher(const std::vector<int> &signals, std::function<void(int)> on_signal);
  ~SignalWatcher();

 private:
  sigset_t signals_;
  std::function<void(int)> on_signal_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// What a signal ends. Thread-safe.
class Running {
 public:
  void Set(std::function<void(int)> end);
  // It ends by itself, and has files to write: a signal that comes now must not
  // keep it from that. Nothing that was set is called any more.
  void Finish();
  // False: there is nothing to end yet.
  bool End(int signal);

 private:
  runtime::Mutex mu_;
  std::function<void(int)> end_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

// The signals of this process: the first ends what runs in good order, or at once if
// nothing does yet, the second at once. Made before any other thread (MPI's too).
class Signals {
 public:
  // `spawned`: what is sent to the whole group is for the parent to decide. SIGTERM is
  // handed on, kEndSignal ends at once what does not run yet.
  explicit Signals(bool spawned);
  Running &running() { return running_; }
  int received() const { return received_; }  // 0: none

 private:
  Running running_;
  std::atomic<int> received_{0};
  SignalCount count_;
  SignalWatcher watcher_;  // the last: it uses the others
};

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_SIGNALS_H
