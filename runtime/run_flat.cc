// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/run_flat.h"

#include <deque>
#include <utility>

namespace commsched::runtime {
namespace {

// What waits for the outermost call on this thread; null outside of one.
thread_local std::deque<absl::AnyInvocable<void()>> *running = nullptr;

}  // namespace

void RunFlat(absl::AnyInvocable<void()> work) {
  if (running != nullptr) {
    running->push_back(std::move(work));
    return;
  }
  std::deque<absl::AnyInvocable<void()>> waiting;
  running = &waiting;
  std::move(work)();
  while (!waiting.empty()) {
    absl::AnyInvocable<void()> next = std::move(waiting.front());
    waiting.pop_front();
    next();
  }
  running = nullptr;
}

}  // namespace commsched::runtime
