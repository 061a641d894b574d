// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/costs.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plan/cluster_nccl.h"
#include "plan/nccl_tests_log.h"

namespace commsched::runtime::simulator {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// Of an even number, the lower of the middle two.
double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = (values.size() - 1) / 2;
  std::nth_element(values.begin(), values.begin() + long(middle), values.end());
  return values[middle];
}

absl::StatusOr<Struct> Parse(const std::string &text, const char *format) {
  google::protobuf::LogSilencer silence;
  Struct file;
  if (!google::protobuf::util::JsonStringToMessage(text, &file).ok())
    return absl::InvalidArgumentError(absl::StrCat("is no JSON object"));
  auto it = file.fields().find("format");
  const std::string found =
      it == file.fields().end() ? "" : it->second.string_value();
  if (found != format)
    return absl::InvalidArgumentError(
        absl::StrCat("format must be \"", format, "\", got: \"", found, "\""));
  auto version = file.fields().find("version");
  if (version == file.fields().end() || version->second.number_value() != 1)
    return absl::InvalidArgumentError("version must be 1");
  return file;
}

double Number(const Struct &of, const char *name) {
  auto it = of.fields().find(name);
  return it == of.fields().end() ? 0 : it->second.number_value();
}
std::string Text(const Struct &of, const char *name) {
  auto it = of.fields().find(name);
  return it == of.fields().end() ? "" : it->second.string_value();
}
std::vector<Struct> List(const Struct &of, const char *name) {
  std::vector<Struct> list;
  auto it = of.fields().find(name);
  if (it != of.fields().end())
    for (const Value &v : it->second.list_value().values())
      list.push_back(v.struct_value());
  return list;
}

absl::Status ReadCalibration(const std::string &text, LinkCosts *costs) {
  absl::StatusOr<Struct> file = Parse(text, "commsched calibration");
  if (!file.ok()) return file.status();
  std::vector<Struct> links = List(*file, "links");
  const auto of_server = [](const Struct &link) {
    return absl::StartsWith(Text(link, "from"), "server");
  };
  if (std::any_of(links.begin(), links.end(), of_server))
    links.erase(std::remove_if(links.begin(), links.end(),
                               [&](const Struct &l) { return !of_server(l); }),
                links.end());
  std::vector<double> rate, latency, overhead, round, message;
  for (const Struct &link : links) {
    rate.push_back(Number(link, "bits_per_s"));
    latency.push_back(Number(link, "latency_ns"));
    overhead.push_back(Number(link, "overhead_ns"));
  }
  for (const Struct &exchange : List(*file, "exchanges")) {
    round.push_back(Number(exchange, "round_ns"));
    message.push_back(Number(exchange, "message_ns"));
  }
  costs->mbit_per_s = Median(rate) / 1e6;
  if (!(costs->mbit_per_s > 0))
    return absl::InvalidArgumentError("has no link with a rate");
  costs->overhead = Time(Median(overhead));
  // What further messages cost beyond the link is the rank's own work.
  costs->engine = std::max<Time>(0, Time(Median(message)) - costs->overhead);
  costs->latency = std::max(Time(Median(latency)),
                            Time(Median(round)) - costs->overhead - costs->engine);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LinkCosts> ReadLinkCosts(const plan::Cluster &cluster,
                                        const SimulationOptions &options) {
  LinkCosts costs;
  costs.mbit_per_s = double(cluster.inter_mbit_per_s());
  costs.latency = Time(cluster.inter_latency_ns());
  costs.overhead = Time(cluster.inter_overhead_ns());
  if (!options.calibration.empty())
    if (absl::Status s = ReadCalibration(options.calibration, &costs); !s.ok())
      return absl::InvalidArgumentError(absl::StrCat("calibration ", s.message()));
  if (options.latency_ns) costs.latency = *options.latency_ns;
  if (options.overhead_ns) costs.overhead = *options.overhead_ns;
  if (options.engine_ns) costs.engine = *options.engine_ns;
  costs.mbit_per_s *= options.bandwidth;
  costs.latency = Time(std::llround(double(costs.latency) * options.latency));
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
    if (std::string error = plan::ParseNcclTestsLog(options.nccl_tests, &log); !error.empty())
      return absl::InvalidArgumentError(absl::StrCat("log of nccl-tests: ", error));
    if (log.ranks != workers)
      return absl::InvalidArgumentError(absl::StrCat(
          "log of nccl-tests: ranks must match the workers, ", workers, ", got: ", log.ranks));
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
  return options.nccl_tests.empty() ? plan::NcclCostsOf(cluster) : plan::NcclCosts(log.times);
}

absl::StatusOr<MeasuredCosts> ReadProfile(const std::string &text) {
  MeasuredCosts costs;
  if (text.empty()) return costs;
  absl::StatusOr<Struct> file = Parse(text, "commsched profile");
  if (!file.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("profile ", file.status().message()));
  std::map<MeasuredCosts::key_type, std::vector<double>> all;
  for (const Struct &process : List(*file, "processes"))
    for (const Struct &function : List(process, "functions"))
      for (const Struct &fragment : List(function, "fragments")) {
        const std::string role = Text(process, "role");
        const int index = role == "server" ? int(Number(process, "index")) : -1;
        all[{role == "server" ? role : "worker", index, Text(function, "name"),
             Text(fragment, "label"), uint32_t(Number(fragment, "device"))}]
            .push_back(Number(fragment, "median_ns"));
      }
  for (auto &[key, values] : all) costs[key] = Time(Median(std::move(values)));
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
    costs[i] = Time(instruction.nanoseconds);
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
