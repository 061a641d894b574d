// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan that a command makes, beside the training: the runtime knows nothing of
// compilers.
#ifndef COMMSCHED_RUNTIME_REPLANNING_PLANNING_COMMAND_H
#define COMMSCHED_RUNTIME_REPLANNING_PLANNING_COMMAND_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace commsched::runtime {

// What has been measured, as docs/costs.md describes the files.
struct Measurements {
  uint64_t attempt = 1;  // counted from 1
  // Where costs are measured; else empty.
  std::string profile;      // of all ranks; parts that are merged by the caller
  std::string calibration;  // links without a measurement are not in it
  // Of the plan that runs, which has this digest, and of the rank where it is longest: the
  // median of the last steps, and the standard error of that; 0 if they are not known.
  uint64_t running = 0;
  int64_t step_ns = 0, step_error_ns = 0;
  // The same of all steps of the plan that ran before it, once it has been replaced.
  uint64_t before = 0;
  int64_t before_ns = 0, before_error_ns = 0;
  uint64_t steps = 0;  // that the run has completed
};

// Makes the bytes of a plan, or returns kAlreadyExists where it is the one that runs; ends soon, with an error, once `stop` is set. Called
// by one thread at a time.
using PlanFunction = std::function<absl::StatusOr<std::string>(
    const Measurements &, const std::atomic<bool> &stop)>;

struct PlanningCommandOptions {
  // For /bin/sh. {profile}, {calibration} and {plan} become paths, quoted; the
  // command writes the last.
  std::string command;
  absl::Duration deadline = absl::Minutes(10);  // then it is killed
  // Where files are: NAME.1.json and so on, kept. Empty: a temporary folder,
  // which is removed.
  std::string folder;
};

// kInvalidArgument if the command has no {plan}.
absl::Status CheckPlanningCommand(const std::string &command);

// Runs the command with the least priority, on one processor, in a process group
// of its own, which ends with it, with the deadline, with `stop` and with this
// process. An error has the end of what it wrote to stderr.
PlanFunction PlanByCommand(PlanningCommandOptions options);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_PLANNING_COMMAND_H
