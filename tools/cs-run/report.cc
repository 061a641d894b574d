// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/cuda/memory_needs.h"
#include "runtime/execute/memory_needs.h"

namespace commsched::run {
namespace {

using runtime::JsonNumber;
using runtime::JsonQuote;

constexpr int kBarWidth = 30;

std::string ToJson(const Metrics &metrics) {
  std::string out;
  for (const auto &[name, value] : metrics)
    absl::StrAppend(&out, ",", JsonQuote(name), ":", JsonNumber(value));
  return out;
}

std::string Size(double bytes) {
  if (bytes >= 1048576) return absl::StrFormat("%.1f MiB", bytes / 1048576);
  if (bytes >= 1024) return absl::StrFormat("%.1f KiB", bytes / 1024);
  return absl::StrFormat("%.0f bytes", bytes);
}

}  // namespace

// Where a person looks on. Open MPI's launcher gives its processes terminals, wherever its own output goes.
static bool IsTerminal() {
  return isatty(STDOUT_FILENO) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr;
}

std::string ToText(const Metrics &metrics) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : metrics)
    parts.push_back(absl::StrFormat("%s %.6g", name, value));
  return absl::StrJoin(parts, ", ");
}

Report::Report(bool silent, bool keeps, uint64_t every, uint64_t first, uint64_t steps)
    : silent_(silent),
      keeps_(keeps),
      terminal_(IsTerminal()),
      first_(first),
      steps_(steps),
      every_(every != 0 ? every : std::max<uint64_t>(1, steps / 20)) {}

void Report::ClearBar() {
  if (bar_shown_) std::fputs("\r\x1b[K", stdout);
  bar_shown_ = false;
}

void Report::Line(const std::string &text) {
  if (silent_) return;
  ClearBar();
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
}

void Report::Warn(const std::string &text) {
  if (silent_) return;
  ClearBar();
  std::fflush(stdout);
  std::fprintf(stderr, "cs-run: %s\n", text.c_str());
}

void Report::Bar(uint64_t step, const Metrics &metrics) {
  uint64_t done = step - first_;
  int filled = steps_ == 0 ? kBarWidth : int(done * kBarWidth / steps_);
  std::string bar = std::string(size_t(filled), '#') +
                    std::string(size_t(kBarWidth - filled), '.');
  std::fprintf(stdout, "\r\x1b[K[%s] %llu/%llu %s", bar.c_str(),
               static_cast<unsigned long long>(step),
               static_cast<unsigned long long>(first_ + steps_),
               ToText(metrics).c_str());
  std::fflush(stdout);
  bar_shown_ = true;
}

void Report::Step(uint64_t step, const Metrics &metrics) {
  if (silent_) return;
  if (keeps_)
    step_json_.push_back(absl::StrCat("{\"step\":", step, ToJson(metrics), "}"));
  bool due = (step - first_) % every_ == 0 || step == first_ + 1 ||
             step == first_ + steps_;
  if (due)
    Line(absl::StrCat("step ", step, metrics.empty() ? "" : ": ", ToText(metrics)));
  if (terminal_ && (due || (step - first_) % std::max<uint64_t>(1, steps_ / 200) == 0) &&
      step != first_ + steps_)
    Bar(step, metrics);
}

void Report::Call(const std::string &function, uint64_t step,
                  const Metrics &metrics, uint64_t samples, uint64_t all) {
  if (silent_) return;
  if (keeps_)
    call_json_.push_back(absl::StrCat("{\"function\":", JsonQuote(function), ",\"step\":", step,
                                      ",\"samples\":", samples, ToJson(metrics), "}"));
  std::string text = absl::StrCat("@", function, " after step ", step);
  if (!metrics.empty()) absl::StrAppend(&text, ": ", ToText(metrics));
  if (samples != 0) {
    absl::StrAppend(&text, " (", samples);
    if (samples != all) absl::StrAppend(&text, " of ", all);
    absl::StrAppend(&text, " samples)");
  }
  Line(text);
}

void Report::Summary(const runtime::FunctionStats &stats, size_t memory_bytes,
                     uint64_t bytes_sent, const plan::Schedule &schedule) {
  if (silent_) return;
  double n = double(std::max<uint64_t>(1, stats.calls));
  double step = double(stats.total_ns) / n / 1e6,
         compute = double(stats.compute_ns) / n / 1e6,
         exposed = double(stats.exposed_ns) / n / 1e6,
         sent = double(bytes_sent) / n, first = double(stats.first_ns) / 1e6;
  summary_json_ = absl::StrCat(
      "{\"steps\":", stats.calls, ",\"step_ms\":", JsonNumber(step), ",\"first_step_ms\":", JsonNumber(first),
      stats.of_streams ? absl::StrCat(",\"compute_ms\":", JsonNumber(compute),
                                      ",\"exposed_communication_ms\":", JsonNumber(exposed))
                       : "",
      ",\"memory_bytes\":", memory_bytes,
      ",\"sent_bytes_per_step\":", JsonNumber(sent));
  if (schedule.bound_ns() != 0)
    absl::StrAppend(&summary_json_, ",\"bound_ms\":", JsonNumber(double(schedule.bound_ns()) / 1e6),
                    ",\"bound_assumes\":", JsonQuote(schedule.bound_assumes()));
  if (stats.copy_ns != 0)
    absl::StrAppend(&summary_json_, ",\"copy_ms\":",
                    JsonNumber(double(stats.copy_ns) / n / 1e6));
  if (stats.requested_ns != 0)
    absl::StrAppend(&summary_json_, ",\"emulation\":{\"requested_ms\":",
                    JsonNumber(double(stats.requested_ns) / n / 1e6),
                    ",\"elapsed_ms\":",
                    JsonNumber(double(stats.elapsed_ns) / n / 1e6),
                    ",\"latest_ms\":", JsonNumber(double(stats.latest_ns) / 1e6),
                    "}");
  summary_json_ += "}";
  const std::string times =
      absl::StrFormat("step time %.3f ms%s", step, stats.calls > 1 ? absl::StrFormat(" (the first %.3f ms)", first) : "");
  if (stats.calls != 0 && !stats.of_streams)
    Line(absl::StrFormat("%s; messages: sent %s per step", times, Size(sent)));
  if (stats.calls != 0 && stats.of_streams)
    Line(absl::StrFormat("%s: compute %.3f ms, exposed communication %.3f ms, other %.3f ms; sent %s per step", times,
                         compute, exposed, std::max(0.0, step - compute - exposed), Size(sent)));
  if (stats.copy_ns != 0)
    Line(absl::StrFormat("busiest copy engine: %.3f ms per step",
                         double(stats.copy_ns) / n / 1e6));
  if (stats.requested_ns != 0)
    Line(absl::StrFormat(
        "emulation: %.3f ms per step requested, %.3f ms elapsed (%+.2f %%), over "
        "all streams; at most %.3f ms late",
        double(stats.requested_ns) / n / 1e6, double(stats.elapsed_ns) / n / 1e6,
        100.0 * (double(stats.elapsed_ns) / double(stats.requested_ns) - 1),
        double(stats.latest_ns) / 1e6));
  Line(absl::StrCat("memory of a rank: ", Size(double(memory_bytes))));
}

absl::Status Report::WriteJson(const std::string &path) const {
  if (silent_) return absl::OkStatus();
  std::string json = absl::StrCat(
      "{\"steps\":[\n", absl::StrJoin(step_json_, ",\n"), "],\n\"calls\":[\n",
      absl::StrJoin(call_json_, ",\n"), "],\n\"summary\":", summary_json_, "}\n");
  return runtime::WriteFileAtomically(path, {json});
}

absl::StatusOr<std::string> ArenaInfo(const runtime::Program &program) {
  std::string out;
  for (const runtime::FunctionProgram &f : program.functions)
    absl::StrAppend(&out, "@", f.name, ": arena ", f.arena_bytes, " bytes, scratch ",
                    f.scratch_bytes, " bytes, ", f.instructions.size(),
                    " instructions\n");
  // Of servers, which run on the host, too.
  if (program.cuda != nullptr && program.server < 0) {
    auto needs = runtime::cuda::MemoryNeedsOf(program);
    if (!needs.ok()) return needs.status();
    return out + runtime::cuda::MemoryNeedsText(*needs);
  }
  const runtime::HostMemoryNeeds needs = runtime::HostMemoryNeedsOf(program);
  absl::StrAppend(&out, "parameters and state: ", needs.slots, " bytes in ",
                  program.slots.size(), " tensors, copies included\n",
                  "total of a rank: ", needs.all(), " bytes, and what its kernels ask for\n");
  return out;
}

}  // namespace commsched::run
