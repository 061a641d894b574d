// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_WATCHDOG_H
#define COMMSCHED_TOOLS_CS_RUN_WATCHDOG_H

#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/sync.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Beyond the time after which a peer is given up, for connections to close.
inline constexpr absl::Duration kClosing = absl::Seconds(10);

// Ends the process, with this error, unless it is destroyed within a time: a
// connection to a peer that hangs may take for ever to close, and a disk to answer. `options` outlive it.
class Watchdog {
 public:
  Watchdog(const Options &options, absl::Status why, absl::Duration patience);
  ~Watchdog();

 private:
  void Watch();

  const Options &options_;
  const absl::Status why_;
  const runtime::Clock::time_point end_;
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_WATCHDOG_H
