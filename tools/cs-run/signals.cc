// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/signals.h"

#include <unistd.h>

#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::run {

std::string EndedBy(int signal) {
  return absl::StrCat("ended by signal ", signal, " (", strsignal(signal), ")");
}

SignalWatcher::SignalWatcher(const std::vector<int> &signals,
                             std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)) {
  sigemptyset(&signals_);
  for (int s : signals) sigaddset(&signals_, s);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this] {
    while (!done_) {
      timespec wait = {0, 50'000'000};
      int s = sigtimedwait(&signals_, nullptr, &wait);
      if (s > 0) on_signal_(s);
    }
  });
}

SignalWatcher::~SignalWatcher() {
  done_ = true;
  thread_.join();
}

void Running::Set(std::function<void(int)> end) {
  runtime::MutexLock lock(&mu_);
  end_ = std::move(end);
}

void Running::Finish() {
  runtime::MutexLock lock(&mu_);
  end_ = nullptr;
  finished_ = true;
}

SignalCount::Which SignalCount::Next() {
  const auto now = std::chrono::steady_clock::now();
  if (first_ == std::chrono::steady_clock::time_point()) {
    first_ = now;
    return kFirst;
  }
  return now - first_ < std::chrono::seconds(1) ? kSame : kSecond;
}

Signals::Signals(bool spawned)
    : watcher_({SIGTERM, spawned ? kEndSignal : SIGINT}, [this, spawned](int s) {
        if (spawned) {
          if (!running_.End(s) && s == kEndSignal) _exit(128 + SIGTERM);
          return;
        }
        const SignalCount::Which which = count_.Next();
        if (which == SignalCount::kSame) return;
        received_ = s;
        if (which == SignalCount::kSecond || !running_.End(s)) _exit(128 + s);
      }) {}

bool Running::End(int signal) {
  runtime::MutexLock lock(&mu_);
  if (end_) end_(signal);
  return finished_ || bool(end_);
}

}  // namespace commsched::run
