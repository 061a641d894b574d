// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run prints: a progress bar on a terminal, plain lines elsewhere, and
// the same numbers as JSON.
#ifndef COMMSCHED_TOOLS_CS_RUN_REPORT_H
#define COMMSCHED_TOOLS_CS_RUN_REPORT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/program/program.h"
#include "runtime/session/session.h"

namespace commsched::run {

using Metrics = std::vector<std::pair<std::string, double>>;

class Report {
 public:
  // `silent`: ranks other than 0 print nothing. `every`: 0 for about twenty
  // lines over `steps` steps, which begin after `first`. `keeps`: all metrics, for WriteJson.
  Report(bool silent, bool keeps, uint64_t every, uint64_t first, uint64_t steps);

  void Line(const std::string &text);
  // To standard error.
  void Warn(const std::string &text);
  // Of step `step`, counted from 1.
  void Step(uint64_t step, const Metrics &metrics);
  // Of another function. `samples` of `all` were used; 0: no batch.
  void Call(const std::string &function, uint64_t step, const Metrics &metrics,
            uint64_t samples, uint64_t all);
  void Summary(const runtime::FunctionStats &stats, size_t memory_bytes,
               uint64_t bytes_sent, const plan::Schedule &schedule);
  absl::Status WriteJson(const std::string &path) const;

 private:
  void Bar(uint64_t step, const Metrics &metrics);
  void ClearBar();

  const bool silent_, keeps_, terminal_;
  const uint64_t first_, steps_;
  uint64_t every_;
  bool bar_shown_ = false;
  std::vector<std::string> step_json_, call_json_;
  std::string summary_json_ = "{}";
};

// "loss 0.31, accuracy 0.97"
std::string ToText(const Metrics &metrics);

// Memory of the plan as text: one line per function, and what a rank takes; of plans for CUDA
// devices, of the device and pinned.
absl::StatusOr<std::string> ArenaInfo(const runtime::Program &program);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_REPORT_H
