// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/simulate.h"

#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/files.h"
#include "runtime/measure/trace.h"
#include "runtime/simulator/simulator.h"

namespace commsched::run {
namespace {

using Setter = std::function<absl::Status(const std::string &)>;

absl::StatusOr<int64_t> Whole(const std::string &text) {
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < 0 || value > int64_t{1} << 40)
    return absl::InvalidArgumentError(
        absl::StrCat("must be a number of at least 0, got: ", text));
  return value;
}

absl::Status ReadText(const std::string &path, const char *option, std::string *text) {
  if (path.empty()) return absl::OkStatus();
  auto file = runtime::MappedFile::Open(path);
  if (!file.ok())
    return absl::Status(file.status().code(),
                        absl::StrCat(option, ": ", file.status().message()));
  *text = std::string((*file)->bytes());
  // As text it would be taken for none.
  if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(option, ": ", path, ": is empty"));
  return absl::OkStatus();
}

// Names the file that an error or a warning is about: Simulate() has only what is in it.
std::string OfFile(const Options &o, absl::string_view said) {
  for (const auto &[begin, path] : {std::pair("profile ", &o.read_profile), std::pair("calibration ", &o.read_calibration),
                                    std::pair("log of nccl-tests", &o.read_nccl_tests)})
    if (!path->empty() && absl::StartsWith(said, begin)) return absl::StrCat(*path, ": ", said);
  return std::string(said);
}

}  // namespace

std::map<std::string, Setter> SimulationSetters(Options *o) {
  runtime::SimulationOptions *s = &o->simulation;
  const auto parsed = [s](absl::Status (*parse)(absl::string_view, runtime::SimulationOptions *)) {
    return [parse, s](const std::string &v) { return parse(v, s); };
  };
  const auto number = [](auto target) {
    return [target](const std::string &v) {
      absl::StatusOr<int64_t> value = Whole(v);
      if (value.ok()) *target = *value;
      return value.status();
    };
  };
  const auto path = [](std::string *target) {
    return [target](const std::string &v) {
      *target = v;
      return absl::OkStatus();
    };
  };
  return {{"--what-if", parsed(runtime::ParseWhatIf)},
          {"--straggler", parsed(runtime::ParseStraggler)},
          {"--jitter", parsed(runtime::ParseJitter)},
          {"--link", parsed(runtime::ParseLink)},
          {"--link-latency-ns", number(&s->latency_ns)},
          {"--link-overhead-ns", number(&s->overhead_ns)},
          {"--link-burst", number(&s->burst_bytes)},
          {"--link-queue-ns", number(&s->queue_ns)},
          {"--engine-ns", number(&s->engine_ns)},
          {"--read-profile", path(&o->read_profile)},
          {"--read-calibration", path(&o->read_calibration)},
          {"--read-nccl-tests", path(&o->read_nccl_tests)}};
}

absl::Status CheckSimulate(const Options &o) {
  if (o.simulate && o.steps && *o.steps == 0)
    return absl::InvalidArgumentError("--simulate needs --steps of at least 1");
  return absl::OkStatus();
}

absl::StatusOr<runtime::SimulationOptions> SimulationOf(const Options &o) {
  runtime::SimulationOptions simulation = o.simulation;
  simulation.steps = o.steps.value_or(0);
  absl::Status status =
      ReadText(o.read_profile, "--read-profile", &simulation.profile);
  if (status.ok())
    status = ReadText(o.read_calibration, "--read-calibration", &simulation.calibration);
  if (status.ok())
    status = ReadText(o.read_nccl_tests, "--read-nccl-tests", &simulation.nccl_tests);
  if (!status.ok()) return status;
  return simulation;
}

absl::Status RunSimulation(const Options &o, const runtime::PlanImage &image) {
  auto options = SimulationOf(o);
  if (!options.ok()) return options.status();
  runtime::SimulationOptions simulation = *std::move(options);
  absl::Status status;
  // Times count from 0.
  runtime::TraceRecorder trace{runtime::Clock::time_point()};
  if (!o.trace.empty()) simulation.trace = &trace;
  auto result = runtime::Simulate(image, simulation);
  if (!result.ok()) return absl::Status(result.status().code(), OfFile(o, result.status().message()));
  for (const std::string &warning : result->warnings)
    std::fprintf(stderr, "cs-run: warning: %s\n", OfFile(o, warning).c_str());
  std::fputs(runtime::SimulationText(*result).c_str(), stdout);
  if (!o.metrics_json.empty())
    status = runtime::WriteFileAtomically(o.metrics_json, {SimulationJson(*result)});
  if (status.ok() && !o.trace.empty()) {
    status = trace.Write(o.trace);
    if (status.ok()) std::printf("trace: %s\n", o.trace.c_str());
  }
  return status;
}

}  // namespace commsched::run
