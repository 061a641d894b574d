// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says once that a NaN has come into the training, where it was seen first.
#ifndef COMMSCHED_TOOLS_CS_RUN_NAN_WATCH_H
#define COMMSCHED_TOOLS_CS_RUN_NAN_WATCH_H

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "runtime/data/dataset.h"
#include "runtime/session/session.h"
#include "tools/cs-run/report.h"

namespace commsched::run {

// Every call returns an error if there is a NaN and `stop` is set; else it is said by
// `say`, once.
class NanWatch {
 public:
  NanWatch(runtime::Session *session, bool stop, std::function<void(const std::string &)> say)
      : session_(session), stop_(stop), say_(std::move(say)) {}

  // Metrics of step `step`, counted from 1, which batch `step` - 1 of `data` (may be
  // null) went into.
  absl::Status Check(uint64_t step, const Metrics &metrics, runtime::Dataset *data);
  // Parameters and state after `step` steps, as far as they are here. `*found`: one of
  // them has a NaN. Waits for earlier calls.
  absl::Status CheckValues(uint64_t step, bool *found);
  // Whether this has been said.
  bool said() const { return said_; }

 private:
  // `parameter "w" has a nan`, or nothing.
  absl::StatusOr<std::string> InValues();
  absl::Status Say(const std::string &text);

  runtime::Session *const session_;
  const bool stop_;
  const std::function<void(const std::string &)> say_;
  bool said_ = false;
};

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_NAN_WATCH_H
