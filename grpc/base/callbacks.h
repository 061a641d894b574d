// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the callers' completions, and counts what is under way, so that Close
// can wait until no callback runs and no caller's memory is in use.
//
// Threading: all methods may be called from any thread.
#ifndef COMMSCHED_GRPC_BASE_CALLBACKS_H
#define COMMSCHED_GRPC_BASE_CALLBACKS_H

#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

// How long a close waits for the peers' goodbyes: on a machine that has much to do these take a while.
inline constexpr auto kGoodbyeGrace = std::chrono::seconds(3);

// Wakes up threads that wait for a condition over state of several locks.
class Monitor {
 public:
  // After a change; to be called without locks that a condition takes.
  void Notify();
  // Waits until `condition`, which is called without a lock, or the deadline;
  // returns what the condition was last.
  bool Wait(runtime::Clock::time_point deadline,
            absl::FunctionRef<bool()> condition);

 private:
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;
};

class Callbacks {
 public:
  using Callback = absl::AnyInvocable<void()>;

  // Notifies `monitor` whenever nothing is under way any more.
  explicit Callbacks(Monitor *monitor);
  // Nothing may be under way.
  ~Callbacks();

  // Something has begun that ends with exactly one Run or RunLater.
  void Begin();
  // Runs the callback in this thread, which holds no lock: at once, or, inside
  // another callback, after that one (so that callbacks that call back never
  // grow the stack).
  void Run(Callback callback);
  // Runs the callback in a thread of this object: for callers that do not know
  // what locks their thread holds.
  void RunLater(Callback callback);
  bool idle() const;

 private:
  void Finished();
  void Loop();

  Monitor *const monitor_;
  mutable runtime::Mutex mu_;
  runtime::CondVar wake_;
  int under_way_ ABSL_GUARDED_BY(mu_) = 0;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Callback> later_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_CALLBACKS_H
