// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_SIMULATE_H
#define COMMSCHED_TOOLS_CS_RUN_SIMULATE_H

#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/loading/plan_loader.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// What sets the options of --simulate, by name.
std::map<std::string, std::function<absl::Status(const std::string &)>>
SimulationSetters(Options *options);
absl::Status CheckSimulate(const Options &options);

// What the options say, with the files that they name.
absl::StatusOr<runtime::SimulationOptions> SimulationOf(const Options &options);

// Instead of running the plan: prints what the simulator says of it, and writes
// --metrics-json and --trace.
absl::Status RunSimulation(const Options &options, const runtime::PlanImage &image);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_SIMULATE_H
