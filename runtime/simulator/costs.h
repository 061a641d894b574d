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
#include "plan/calibration.h"
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

// That of the options, if they have one: of the plan's program, and of as many ranks as `workers` where it says what
// NCCL takes. Else one that has measured nothing.
// What of these numbers is taken, but as no link has it: SimulationResult::warnings.
std::vector<std::string> DoubtsOf(const plan::Calibration &calibration, const SimulationOptions &options);

absl::StatusOr<plan::Calibration> CalibrationOf(const plan::Plan &plan, int workers, const SimulationOptions &options);

// The plan's cluster, with what the calibration has measured in it: as --read-costs writes it into a module, of as many
// nodes as NCCL's times are of.
plan::Cluster ClusterOf(const plan::Cluster &cluster, const plan::Calibration &calibration);

// Of the links of the calibration, if it has any, else what the plan says; then what the options say.
LinkCosts LinkCostsOf(const plan::Cluster &cluster, const plan::Calibration &calibration, const SimulationOptions &options);

// Of collectives by NCCL, of `workers` ranks: those of options.nccl_tests, else as they were measured for the cluster,
// else by NCCL's model.
absl::StatusOr<plan::NcclCosts> ReadNcclCosts(const plan::Cluster &cluster, int workers,
                                              const SimulationOptions &options);

// Role ("worker", "trainer", "server"), index of a server, function, label and
// device: the median over the processes of the profile of the options, which is of the plan's program.
using MeasuredCosts =
    std::map<std::tuple<std::string, int, std::string, std::string, uint32_t>, Time>;
absl::StatusOr<MeasuredCosts> ReadProfile(const plan::Plan &plan, const SimulationOptions &options);

// Nanoseconds of each instruction that a stream runs. What is neither in the plan
// nor measured follows from its operations and bytes and the rates of the device, copies from those of the cluster.
absl::StatusOr<std::vector<Time>> InstructionCosts(const FunctionProgram &function,
                                                   const plan::Cluster &cluster,
                                                   const MeasuredCosts &measured,
                                                   int server);

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_COSTS_H
