// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/files.h"
#include "runtime/c_api/c_api.h"
#include "runtime/c_api/c_api_error.h"
#include "runtime/measure/trace.h"
#include "runtime/simulator/simulator.h"

namespace rt = commsched::runtime;

namespace {

absl::Status Number(absl::string_view text, absl::string_view name, int64_t *number) {
  if (!absl::SimpleAtoi(text, number) || *number < 0)
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a number of at least 0, got: ", text));
  return absl::OkStatus();
}

absl::Status ReadText(absl::string_view path, std::string *text) {
  auto file = rt::MappedFile::Open(std::string(path));
  if (!file.ok()) return file.status();
  *text = std::string((*file)->bytes());
  // As text it would be taken for none.
  if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  return absl::OkStatus();
}

absl::Status SetOption(absl::string_view name, absl::string_view value,
                       rt::SimulationOptions *options, std::string *trace) {
  int64_t number = 0;
  const auto whole = [&] { return Number(value, name, &number); };
  absl::Status status;
  if (name == "what_if") return rt::ParseWhatIf(value, options);
  if (name == "straggler") return rt::ParseStraggler(value, options);
  if (name == "jitter") return rt::ParseJitter(value, options);
  if (name == "link") return rt::ParseLink(value, options);
  if (name == "profile") return ReadText(value, &options->profile);
  if (name == "calibration") return ReadText(value, &options->calibration);
  if (name == "nccl_tests") return ReadText(value, &options->nccl_tests);
  if (name == "trace") {
    *trace = std::string(value);
  } else if (name == "steps") {
    status = whole();
    if (status.ok() && number == 0)
      status = absl::InvalidArgumentError("steps must be a number of at least 1, got: 0");
    options->steps = uint64_t(number);
  } else if (name == "latency_ns") {
    status = whole();
    options->latency_ns = number;
  } else if (name == "overhead_ns") {
    status = whole();
    options->overhead_ns = number;
  } else if (name == "engine_ns") {
    status = whole();
    options->engine_ns = number;
  } else if (name == "burst_bytes") {
    status = whole();
    options->burst_bytes = uint64_t(number);
  } else if (name == "queue_ns") {
    status = whole();
    options->queue_ns = number;
  } else if (name == "every_rank") {
    status = whole();
    options->every_rank = number != 0;
  } else if (name == "in_order") {
    status = whole();
    options->in_order = number != 0;
  } else {
    status = absl::InvalidArgumentError(absl::StrCat("unknown option ", name));
  }
  return status;
}

absl::StatusOr<std::string> Run(absl::string_view plan, absl::string_view text) {
  rt::SimulationOptions options;
  std::string trace_path;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (absl::Status s = SetOption(words.first, words.second, &options, &trace_path);
        !s.ok())
      return s;
  }
  auto image = rt::PlanImage::Load(plan);
  if (!image.ok()) return image.status();
  rt::TraceRecorder trace{rt::Clock::time_point()};  // times count from 0
  if (!trace_path.empty()) options.trace = &trace;
  auto result = rt::Simulate(**image, options);
  if (!result.ok()) return result.status();
  if (!trace_path.empty())
    if (absl::Status s = trace.Write(trace_path); !s.ok()) return s;
  return rt::SimulationJson(*result);
}

}  // namespace

extern "C" const char *cs_simulate(const void *plan, size_t plan_bytes,
                                   const char *options) {
  thread_local std::string json;
  auto result = Run({static_cast<const char *>(plan), plan_bytes},
                    options != nullptr ? options : "");
  commsched::SetLastError(result.status());
  if (!result.ok()) return nullptr;
  json = *std::move(result);
  return json.c_str();
}
