// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/costs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "plan/cluster_copies.h"
#include "plan/cluster_nccl.h"
#include "plan/link_doubt.h"
#include "plan/nccl_tests_log.h"
#include "plan/profile.h"

namespace commsched::runtime::simulator {

absl::StatusOr<plan::Calibration> CalibrationOf(const plan::Plan &plan, int workers, const SimulationOptions &options) {
  plan::Calibration calibration;
  if (options.calibration.empty()) return calibration;
  std::string error = plan::ReadCalibration(options.calibration, &calibration);
  if (error.empty())
    error = plan::CheckCalibration(calibration, plan.module_name(), plan.cluster().device_kind(), workers,
                                   !options.nccl_tests.empty());
  if (!error.empty()) return absl::InvalidArgumentError(absl::StrCat("calibration ", error));
  return calibration;
}

std::vector<std::string> DoubtsOf(const plan::Calibration &calibration, const SimulationOptions &options) {
  std::vector<std::string> doubts;
  const auto add = [&](std::string doubt) {
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  };
  if (std::string doubt = calibration.Doubt(); !doubt.empty()) add(absl::StrCat("calibration ", doubt));
  for (const auto &[rank, rate] : options.links) {
    const std::string link = absl::StrCat("link of rank ", rank);
    const auto rate_of = [&](absl::string_view way, double mbit_per_s) {
      const std::string field = absl::StrCat(link, way);
      add(plan::DoubtRate(field, mbit_per_s, "Mbit/s", 1e6));
    };
    if (rate.up_mbit_per_s == rate.down_mbit_per_s) {
      rate_of("", rate.up_mbit_per_s);
    } else {
      rate_of(", sending,", rate.up_mbit_per_s);
      rate_of(", receiving,", rate.down_mbit_per_s);
    }
  }
  if (options.latency_ns) add(plan::DoubtTime("latency_ns of links", *options.latency_ns));
  if (options.overhead_ns) add(plan::DoubtTime("overhead_ns of links", *options.overhead_ns));
  return doubts;
}

plan::Cluster ClusterOf(const plan::Cluster &cluster, const plan::Calibration &calibration) {
  plan::Cluster result = cluster;
  if (std::optional<plan::CalibratedLink> link = plan::CalibratedLink::Of(calibration)) {
    const plan::CalibratedLink::Costs costs = link->WithWork();
    result.set_inter_mbit_per_s(uint64_t(link->mbit_per_s()));
    result.set_inter_latency_ns(uint64_t(costs.latency_ns));
    result.set_inter_overhead_ns(uint64_t(costs.overhead_ns));
  }
  if (std::optional<plan::CalibratedCopies> copies = plan::CopiesOf(calibration)) {
    result.set_device_copy_mb_per_s(uint64_t(copies->mb_per_s));
    result.set_device_copy_latency_ns(uint64_t(copies->latency_ns));
  }
  if (calibration.nccl_ranks != 0) {
    result.set_nodes(uint32_t(calibration.nccl_ranks));
    result.mutable_nccl()->clear_bytes();
    result.mutable_nccl()->clear_ns();
    const plan::NcclTimes times = plan::NcclTimes(calibration.nccl).Whole();
    for (const plan::NcclPoint &point : times.points()) {
      result.mutable_nccl()->add_bytes(point.bytes);
      result.mutable_nccl()->add_ns(uint64_t(point.ns));
    }
  }
  return result;
}

LinkCosts LinkCostsOf(const plan::Cluster &cluster, const plan::Calibration &calibration, const SimulationOptions &options) {
  LinkCosts costs;
  costs.mbit_per_s = double(cluster.inter_mbit_per_s());
  constexpr uint64_t kMost = uint64_t{1} << 62;  // what is too long is refused, not here
  costs.latency = Time(std::min(kMost, cluster.inter_latency_ns()));
  costs.overhead = Time(std::min(kMost, cluster.inter_overhead_ns()));
  if (std::optional<plan::CalibratedLink> link = plan::CalibratedLink::Of(calibration)) {
    const plan::CalibratedLink::Costs measured = link->BesideWork();
    costs.mbit_per_s = double(link->bits_per_s) / 1e6;
    costs.latency = measured.latency_ns;
    costs.overhead = measured.overhead_ns;
    costs.engine = measured.engine_ns;
  }
  if (options.latency_ns) costs.latency = *options.latency_ns;
  if (options.overhead_ns) costs.overhead = *options.overhead_ns;
  if (options.engine_ns) costs.engine = *options.engine_ns;
  costs.mbit_per_s *= options.bandwidth;
  costs.latency = Time(std::llround(std::min(double(kMost), double(costs.latency) * options.latency)));
  return costs;
}

absl::StatusOr<plan::NcclCosts> ReadNcclCosts(const plan::Cluster &cluster, int workers,
                                              const SimulationOptions &options) {
  if (!options.links.empty())
    return absl::UnimplementedError(
        "the plan has collectives of NCCL, for which links of single ranks are not known");
  if (!options.algorithm.empty())
    return absl::UnimplementedError(
        "the plan has collectives of NCCL, which chooses their algorithm itself");
  const bool scaled = options.bandwidth != 1 || options.latency != 1 || options.latency_ns;
  plan::NcclTestsLog log;
  if (!options.nccl_tests.empty()) {
    std::string error = plan::ParseNcclTestsLog(options.nccl_tests, &log);
    if (error.empty()) error = plan::CheckNcclRanks(cluster.device_kind(), workers, log.ranks);
    if (!error.empty()) return absl::InvalidArgumentError(absl::StrCat("log of nccl-tests: ", error));
  } else if (cluster.nccl().bytes_size() == 0) {
    plan::NcclMachines machines = plan::MachinesOf(cluster);
    machines.ranks = workers;
    machines.intra_mbit_per_s *= options.bandwidth;
    machines.inter_mbit_per_s *= options.bandwidth;
    if (options.latency_ns) machines.inter_latency_ns = double(*options.latency_ns);
    machines.inter_latency_ns *= options.latency;
    if (workers > 1 && !(machines.intra_mbit_per_s > 0 && machines.inter_mbit_per_s > 0))
      return absl::InvalidArgumentError(
          "the plan's cluster says no rate of its links: give a log of nccl-tests");
    return plan::NcclCosts(machines);
  } else if (workers != int(cluster.nodes())) {
    return absl::UnimplementedError(absl::StrCat("times of NCCL were measured for ",
                                                 cluster.nodes(), " workers, not for ", workers));
  }
  if (scaled)
    return absl::UnimplementedError(
        "times of NCCL were measured: what other links would take is not known");
  return log.times.points().empty() ? plan::NcclCostsOf(cluster) : plan::NcclCosts(log.times.Whole());
}

absl::StatusOr<MeasuredCosts> ReadProfile(const plan::Plan &plan, const SimulationOptions &options) {
  MeasuredCosts costs;
  if (options.profile.empty()) return costs;
  plan::Profile profile;
  std::string error = plan::ReadProfile(options.profile, &profile);
  if (error.empty()) error = plan::CheckProfile(profile, plan.module_name());
  if (!error.empty()) return absl::InvalidArgumentError(absl::StrCat("profile ", error));
  std::map<MeasuredCosts::key_type, std::vector<int64_t>> all;
  for (const plan::ProfiledProcess &process : profile.processes)
    for (const plan::ProfiledFragment &fragment : process.fragments)
      all[{process.of_server() ? "server" : "worker", process.of_server() ? int(process.index) : -1, fragment.function,
           fragment.label, uint32_t(fragment.device)}]
          .push_back(fragment.median_ns);
  for (auto &[key, values] : all) costs[key] = plan::MedianOf(std::move(values));
  return costs;
}

absl::StatusOr<std::vector<Time>> InstructionCosts(const FunctionProgram &function,
                                                   const plan::Cluster &cluster,
                                                   const MeasuredCosts &measured,
                                                   int server) {
  std::vector<Time> costs(function.instructions.size(), 0);
  for (size_t i = 0; i < costs.size(); ++i) {
    const InstructionProgram &instruction = function.instructions[i];
    if (!instruction.on_stream()) continue;
    costs[i] = Time(instruction.of_host ? plan::HostCopyNs(cluster, function.buffers[instruction.source].type.bytes)
                                        : instruction.nanoseconds);
    if (auto it = measured.find({server < 0 ? "worker" : "server", server, function.name,
                                 instruction.name, instruction.runs_on.device});
        it != measured.end()) {
      costs[i] = it->second;
    } else if (instruction.kind == InstructionProgram::kRun) {  // launches have what emulation takes
      double ns = 0;
      if (cluster.device_gflops() != 0)
        ns = double(instruction.run.flops) / double(cluster.device_gflops());
      if (cluster.device_gb_per_s() != 0)
        ns = std::max(ns, double(instruction.run.bytes) / double(cluster.device_gb_per_s()));
      costs[i] = Time(std::ceil(ns));
    }
  }
  return costs;
}

}  // namespace commsched::runtime::simulator
