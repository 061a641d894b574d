// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/profile.h"

#include <set>
#include <tuple>
#include <utility>

#include "plan/json_file.h"

namespace commsched::plan {
namespace {

using Object = JsonFile::Object;

// Fewer quiet measurements say little.
constexpr int64_t kEnoughQuiet = 3;
constexpr int64_t kMostIndex = 1 << 16;

ProfiledFragment ReadFragment(JsonFile *file, const Object &entry, const std::string &process) {
  ProfiledFragment fragment;
  fragment.label = file->Text(entry, "label", process);
  const std::string where = process + ": \"" + fragment.label + "\"";
  const std::string kind = file->Text(entry, "kind", where);
  fragment.copy = kind == "copy";
  if (!fragment.copy && kind != "run" && kind != "delay")
    file->Fail(where + ": \"kind\" must be run, delay or copy, got: " + kind);
  fragment.device = file->Number(entry, "device", where, 0, kMostIndex);
  file->Number(entry, "count", where, 1, kMostFileCount);
  fragment.median_ns = file->Number(entry, "median_ns", where, 0, kMostFileNs);
  fragment.least_ns = JsonFile::Has(entry, "min_ns") ? file->Number(entry, "min_ns", where, 0, kMostFileNs) : fragment.median_ns;
  if (file->Number(entry, "quiet_count", where, 0, kMostFileCount) >= kEnoughQuiet)
    fragment.quiet_ns = file->Number(entry, "quiet_median_ns", where, 0, kMostFileNs);
  return fragment;
}

void ReadProcess(JsonFile *file, const Object &entry, ProfiledProcess *process) {
  process->role = file->Text(entry, "role", "process");
  if (process->role != "worker" && process->role != "trainer" && process->role != "server")
    file->Fail("role must be worker, trainer or server, got: " + process->role);
  process->index = file->Number(entry, "index", "process", 0, kMostIndex);
  std::set<std::tuple<std::string, std::string, int64_t>> known;
  const std::string name = process->Name();
  file->Each(entry, "functions", name, [&](const Object &function) {
    const std::string of = file->Text(function, "name", name);
    file->Each(function, "fragments", name + ": @" + of, [&](const Object &each) {
      ProfiledFragment fragment = ReadFragment(file, each, name);
      fragment.function = of;
      if (!fragment.copy && !known.emplace(of, fragment.label, fragment.device).second)
        file->Fail(name + ": \"" + fragment.label + "\" is there twice");
      process->fragments.push_back(std::move(fragment));
    });
  });
}

}  // namespace

std::string ProfiledProcess::Name() const { return (of_server() ? "server " : "rank ") + std::to_string(index); }

std::string ReadProfile(std::string_view text, Profile *profile) {
  JsonFile file(text, "commsched profile");
  *profile = {};
  profile->module = file.Text(file.root(), "module", "file");
  profile->plan = file.Text(file.root(), "plan", "file");
  std::set<std::string> names;
  file.Each(file.root(), "processes", "file", [&](const Object &entry) {
    ProfiledProcess process;
    ReadProcess(&file, entry, &process);
    if (!names.insert(process.Name()).second) file.Fail(process.Name() + " is there twice");
    profile->processes.push_back(std::move(process));
  });
  return file.error();
}

std::string CheckProfile(const Profile &profile, std::string_view module) { return CheckModule(profile.module, module); }

}  // namespace commsched::plan
