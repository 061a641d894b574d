// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/watchdog.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "tools/cs-run/child_report.h"

namespace commsched::run {

using runtime::Clock;
using runtime::MutexLock;

Watchdog::Watchdog(const Options &options, absl::Status why, absl::Duration patience)
    : options_(options),
      why_(std::move(why)),
      end_(runtime::After(patience)),
      thread_([this] { Watch(); }) {}

Watchdog::~Watchdog() {
  {
    MutexLock lock(&mu_);
    over_ = true;
  }
  changed_.Signal();
  thread_.join();
}

void Watchdog::Watch() {
  MutexLock lock(&mu_);
  while (!over_) {
    if (!changed_.WaitUntil(&mu_, end_) || over_) continue;
    if (!options_.spawned || !WriteReport(options_.report, why_))
      std::fprintf(stderr, "cs-run: %s\n", std::string(why_.message()).c_str());
    _exit(1);
  }
}

}  // namespace commsched::run
