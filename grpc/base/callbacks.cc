// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/callbacks.h"

#include <utility>

namespace commsched::transport {

using runtime::MutexLock;

void Monitor::Notify() {
  MutexLock lock(&mu_);
  ++version_;
  changed_.SignalAll();
}

bool Monitor::Wait(runtime::Clock::time_point deadline,
                   absl::FunctionRef<bool()> condition) {
  while (true) {
    uint64_t seen;
    {
      MutexLock lock(&mu_);
      seen = version_;
    }
    if (condition()) return true;
    MutexLock lock(&mu_);
    while (version_ == seen) {
      if (changed_.WaitUntil(&mu_, deadline)) break;
    }
    if (version_ == seen) return false;
  }
}

Callbacks::Callbacks(Monitor *monitor)
    : monitor_(monitor), thread_([this] { Loop(); }) {}

Callbacks::~Callbacks() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    wake_.Signal();
  }
  thread_.join();
}

void Callbacks::Begin() {
  MutexLock lock(&mu_);
  ++under_way_;
}

bool Callbacks::idle() const {
  MutexLock lock(&mu_);
  return under_way_ == 0;
}

void Callbacks::Finished() {
  {
    MutexLock lock(&mu_);
    if (--under_way_ > 0) return;
  }
  monitor_->Notify();
}

void Callbacks::Run(Callback callback) {
  // Callbacks that came up while this thread runs one.
  thread_local std::deque<std::pair<Callbacks *, Callback>> *nested = nullptr;
  if (nested != nullptr) {
    nested->emplace_back(this, std::move(callback));
    return;
  }
  std::deque<std::pair<Callbacks *, Callback>> queue;
  nested = &queue;
  queue.emplace_back(this, std::move(callback));
  while (!queue.empty()) {
    auto [owner, next] = std::move(queue.front());
    queue.pop_front();
    next();
    next = nullptr;  // what it holds goes before the owner may
    owner->Finished();
  }
  nested = nullptr;
}

void Callbacks::RunLater(Callback callback) {
  MutexLock lock(&mu_);
  later_.push_back(std::move(callback));
  wake_.Signal();
}

void Callbacks::Loop() {
  while (true) {
    Callback next;
    {
      MutexLock lock(&mu_);
      while (later_.empty() && !stop_) wake_.Wait(&mu_);
      if (later_.empty()) return;
      next = std::move(later_.front());
      later_.pop_front();
    }
    Run(std::move(next));
  }
}

}  // namespace commsched::transport
