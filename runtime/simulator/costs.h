// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fragments and links take: from the plan, or from measurements.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_COSTS_H
#define COMMSCHED_RUNTIME_SIMULATOR_COSTS_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "plan/nccl_costs.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/simulator/event_queue.h"
#include "runtime/simulator/simulator.h"

namespace commsched::runtime::simulator {

struct LinkCosts {
  double mbit_per_s = 0;  // in each direction
  Time latency = 0;
  Time overhead = 0;  // occupies the link
  Time engine = 0;    // of the rank that sends and receives, for each round
};

// Medians over the links of the calibration, if there is one (those to servers
// if it has any), else what the plan says; then what the options say.
absl::StatusOr<LinkCosts> ReadLinkCosts(const plan::Cluster &cluster,
                                        const SimulationOptions &options);

// Of collectives by NCCL, of `workers` ranks: those of options.nccl_tests, else as the plan has
// measured them, else by NCCL's model.
absl::StatusOr<plan::NcclCosts> ReadNcclCosts(const plan::Cluster &cluster, int workers,
                                              const SimulationOptions &options);

// Role ("worker", "trainer", "server"), index of a server, function, label and
// device: the median over the processes.
using MeasuredCosts =
    std::map<std::tuple<std::string, int, std::string, std::string, uint32_t>, Time>;
absl::StatusOr<MeasuredCosts> ReadProfile(const std::string &text);

// Nanoseconds of each instruction that a stream runs. What is neither in the plan
// nor measured follows from its operations and bytes and the rates of the device.
absl::StatusOr<std::vector<Time>> InstructionCosts(const FunctionProgram &function,
                                                   const plan::Cluster &cluster,
                                                   const MeasuredCosts &measured,
                                                   int server);

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_COSTS_H
