// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/measure/profile.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"

namespace commsched::runtime {
namespace {

constexpr absl::string_view kBegin = "{\"format\":\"commsched profile\",";
constexpr absl::string_view kMiddle = "\"processes\":[\n";
constexpr absl::string_view kEnd = "\n]}\n";

const char *NameOf(InstructionProgram::Kind kind) {
  return kind == InstructionProgram::kRun || kind == InstructionProgram::kLaunch ? "run"
         : kind == InstructionProgram::kDelay                                    ? "delay"
                                                                                 : "copy";
}

}  // namespace

void ProfileRecorder::Samples::Add(int64_t value, size_t most) {
  if (kept.size() < most)
    kept.push_back(value);
  else
    kept[count % most] = value;
  ++count;
}

int64_t ProfileRecorder::Samples::Median() const {
  std::vector<int64_t> sorted = kept;
  auto middle = sorted.begin() + (sorted.size() - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

ProfileRecorder::Process::Function ProfileRecorder::Describe(
    const FunctionProgram &function) {
  Process::Function out;
  out.name = function.name;
  for (const InstructionProgram &instruction : function.instructions) {
    out.kinds.push_back(instruction.kind);
    out.labels.push_back(instruction.name);
    out.devices.push_back(instruction.runs_on.device);
  }
  out.entries.resize(function.instructions.size());
  return out;
}

void ProfileRecorder::Add(const Program &program, int function,
                          uint32_t instruction, int64_t nanoseconds,
                          bool communicating) {
  const FunctionProgram &f = program.functions[size_t(function)];
  // What updates rows works on as many rows as there are, not on one step.
  if (program.server < 0 ? !f.is_step : !f.row_outputs.empty()) return;
  MutexLock lock(&mu_);
  auto [process, unknown] = processes_.try_emplace(program.rank);
  if (unknown) {
    module_ = program.module_name;
    digest_ = program.digest;
    Process &p = process->second;
    p.role = program.server >= 0               ? "server"
             : program.servers.servers.empty() ? "worker"
                                               : "trainer";
    p.index = program.server >= 0 ? program.server : program.rank;
  }
  auto found = process->second.functions.find(function);
  if (found == process->second.functions.end())
    found = process->second.functions.emplace(function, Describe(f)).first;
  Entry &entry = found->second.entries[instruction];
  if (entry.runs++ < kWarmUp) return;
  const bool first = entry.all.count == 0;
  entry.least = first ? nanoseconds : std::min(entry.least, nanoseconds);
  entry.most = first ? nanoseconds : std::max(entry.most, nanoseconds);
  entry.all.Add(nanoseconds, kept_);
  if (!communicating) entry.quiet.Add(nanoseconds, kept_);
}

std::string ProfileRecorder::ToJson(const Process &process) {
  std::string functions;
  for (const auto &[index, function] : process.functions) {
    std::string fragments;
    for (size_t i = 0; i < function.entries.size(); ++i) {
      const Entry &entry = function.entries[i];
      if (entry.all.count == 0) continue;
      absl::StrAppend(
          &fragments, fragments.empty() ? "\n" : ",\n",
          "  {\"label\":", JsonQuote(function.labels[i]), ",\"device\":",
          function.devices[i], ",\"kind\":\"", NameOf(function.kinds[i]),
          "\",\"count\":", entry.all.count, ",\"median_ns\":", entry.all.Median(),
          ",\"min_ns\":", entry.least, ",\"max_ns\":", entry.most,
          ",\"quiet_count\":", entry.quiet.count);
      if (entry.quiet.count != 0)
        absl::StrAppend(&fragments, ",\"quiet_median_ns\":", entry.quiet.Median());
      fragments += "}";
    }
    if (!fragments.empty())
      absl::StrAppend(&functions, functions.empty() ? "\n" : ",\n",
                      " {\"name\":", JsonQuote(function.name),
                      ",\"fragments\":[", fragments, "]}");
  }
  if (functions.empty()) return "";
  return absl::StrCat("{\"role\":\"", process.role, "\",\"index\":", process.index,
                      ",\"functions\":[", functions, "]}");
}

bool ProfileRecorder::empty() const {
  MutexLock lock(&mu_);
  return processes_.empty();
}

absl::StatusOr<std::string> ProfileRecorder::ToJson() const {
  MutexLock lock(&mu_);
  std::string processes;
  uint64_t most = 0;
  for (const auto &[rank, process] : processes_) {
    for (const auto &[index, function] : process.functions)
      for (const Entry &entry : function.entries) most = std::max(most, entry.runs);
    std::string text = ToJson(process);
    if (!text.empty())
      absl::StrAppend(&processes, processes.empty() ? "" : ",\n", text);
  }
  if (processes.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "--profile leaves out the first ", kWarmUp,
        " steps and needs at least one more, got: ", most));
  return absl::StrCat(kBegin, "\"version\":1,\"module\":", JsonQuote(module_),
                      ",\"plan\":\"", absl::StrFormat("%016x", digest_),
                      "\",\"warm_up_steps\":", kWarmUp, ",\n", kMiddle, processes,
                      kEnd);
}

absl::Status ProfileRecorder::Write(const std::string &path) const {
  absl::StatusOr<std::string> json = ToJson();
  if (!json.ok()) return json.status();
  return WriteFileAtomically(path, {*json});
}

absl::StatusOr<std::string> MergeProfileTexts(const std::vector<std::string> &texts) {
  std::string all;
  for (absl::string_view text : texts) {
    const size_t middle = text.find(kMiddle);
    if (!absl::StartsWith(text, kBegin) || middle == text.npos ||
        !absl::EndsWith(text, kEnd))
      return absl::DataLossError("is no profile");
    if (all.empty())
      all = std::string(text.substr(0, middle + kMiddle.size()));
    else
      all += ",\n";
    text.remove_prefix(middle + kMiddle.size());
    text.remove_suffix(kEnd.size());
    all.append(text.data(), text.size());
  }
  all.append(kEnd.data(), kEnd.size());
  return all;
}

absl::Status MergeProfiles(const std::vector<std::string> &files,
                           const std::string &path) {
  std::vector<std::string> texts;
  absl::Status status;
  for (const std::string &file : files) {
    auto mapped = MappedFile::Open(file);
    unlink(file.c_str());
    if (!mapped.ok()) {
      if (status.ok()) status = mapped.status();
      continue;
    }
    texts.emplace_back((*mapped)->bytes());
    if (auto whole = MergeProfileTexts({texts.back()}); !whole.ok() && status.ok())
      status = absl::Status(whole.status().code(),
                            absl::StrCat(file, ": ", whole.status().message()));
  }
  if (!status.ok()) return status;
  absl::StatusOr<std::string> all = MergeProfileTexts(texts);
  if (!all.ok()) return all.status();
  return WriteFileAtomically(path, {*all});
}

}  // namespace commsched::runtime
