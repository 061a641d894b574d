// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/process.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "grpc/base/send_queue.h"
#include "grpc/base/send_queues.h"
#include "runtime/base/out_of_memory.h"
#include "runtime/base/sync.h"

// Wakes the thread of gRPC 1.51 that waits for the next timer. Not in its installed headers; another
// version may be without.
__attribute__((weak)) void grpc_kick_poller();

namespace commsched::transport {
namespace {

std::atomic<bool> set_back{false};

// By how much the time of day is ahead of the steady clock.
std::chrono::nanoseconds Ahead() {
  return std::chrono::system_clock::now().time_since_epoch() - runtime::Clock::now().time_since_epoch();
}

// gRPC waits for its timers, which are of the steady clock, until a time of day. When that is set back, by
// hours perhaps, none comes: it neither dials again nor notices that a peer is gone. Beside that, the sockets are
// looked at.
void Watch() {
  constexpr auto kLook = std::chrono::duration<double>(SendQueue::kPeriod);
  constexpr auto kSetBack = std::chrono::milliseconds(20);
  for (auto before = Ahead();;) {
    std::this_thread::sleep_for(kLook);
    const auto now = Ahead();
    if (now < before - kSetBack) {
      set_back = true;
      if (&grpc_kick_poller != nullptr) grpc_kick_poller();
    }
    before = now;
    LookAtSendQueues();
  }
}

}  // namespace

bool TimeWasSetBack() { return set_back; }

void InitialiseGrpc() {
  static const bool done = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr)
      gpr_set_log_function([](gpr_log_func_args *said) {
        if (std::strstr(said->message, "assertion failed") == nullptr) return;
        static char text[256];
        std::snprintf(text, sizeof(text), "gRPC has failed: %s", said->message);
        runtime::EndInsteadOfAbort(text);
      });
    // Of a distribution's Abseil, which is built with assertions: each of gRPC's locks is put into one graph
    // of the whole process, under one lock, and what might be a deadlock ends it.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    // Never undone: gRPC's own shutdown waits up to 10 s for connections that
    // it has not taken apart yet, with nobody left to poll them.
    grpc_init();
    std::thread(Watch).detach();
    return true;
  }();
  (void)done;
}

}  // namespace commsched::transport
