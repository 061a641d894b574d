// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/run_flat.h"

#include <utility>
#include <vector>

namespace commsched::runtime {
namespace {

// What waits for the outermost call on this thread; null outside of one.
thread_local std::vector<absl::AnyInvocable<void()>> *running = nullptr;

}  // namespace

bool RunsFlat() { return running != nullptr; }

void RunFlat(absl::AnyInvocable<void()> work) {
  if (running != nullptr) {
    running->push_back(std::move(work));
    return;
  }
  // Most often nothing is added: then this takes no memory.
  std::vector<absl::AnyInvocable<void()>> waiting, next;
  running = &waiting;
  std::move(work)();
  while (!waiting.empty()) {
    next.clear();
    next.swap(waiting);
    for (absl::AnyInvocable<void()> &one : next) {
      one();
      one = nullptr;
    }
  }
  running = nullptr;
}

}  // namespace commsched::runtime
