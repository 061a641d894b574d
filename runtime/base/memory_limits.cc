// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/memory_limits.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/files.h"

namespace commsched::runtime {
namespace {

// Of one version: where its tree is, and the names of files and of what is in them.
struct Version {
  const char *tree, *limit, *usage, *events, *inactive, *active;
};
constexpr Version kFirst = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "/memory.oom_control",
                            "total_inactive_file", "total_active_file"};
constexpr Version kSecond = {"/sys/fs/cgroup", "/memory.max", "/memory.current", "/memory.events",
                             "inactive_file", "active_file"};

// The whole of it; "" if it cannot be read.
std::string Text(const std::string &path) { return ReadWhole(path).value_or(""); }

std::optional<uint64_t> Number(absl::string_view text) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &number)) return std::nullopt;
  return number;
}

// Of a file with a name and a number on each line.
std::optional<uint64_t> Named(const std::string &file, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() == 2 && words[0] == name) return Number(words[1]);
  }
  return std::nullopt;
}

// The group's folder and those around it, the innermost first. In a container the tree may begin at its own
// group, whose name says a path from elsewhere then.
std::vector<std::string> Folders(const std::string &tree, std::string group) {
  std::vector<std::string> folders;
  while (!group.empty() && group != "/") {
    folders.push_back(absl::StrCat(tree, group));
    group.resize(group.rfind('/'));
  }
  folders.push_back(tree);
  return folders;
}

// What a group may still have by its own limit. Pages of files are given back when others need them.
std::optional<uint64_t> RoomOf(const std::string &folder, const Version &version) {
  const std::optional<uint64_t> limit = Number(Text(folder + version.limit));  // or "max"
  const std::optional<uint64_t> usage = Number(Text(folder + version.usage));
  if (!limit || !usage) return std::nullopt;
  const std::string stat = Text(folder + "/memory.stat");
  const uint64_t files = Named(stat, version.inactive).value_or(0) + Named(stat, version.active).value_or(0);
  const uint64_t kept = *usage - std::min(*usage, files);
  return *limit - std::min(*limit, kept);
}

}  // namespace

MemoryGroup ReadMemoryGroup(const std::string &root) {
  MemoryGroup found;
  for (absl::string_view line : absl::StrSplit(Text(root + "/proc/self/cgroup"), '\n')) {
    // "4:memory:/group" of version 1, "0::/group" of version 2.
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    const bool first = std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (!first && !parts[1].empty()) continue;
    const Version &version = first ? kFirst : kSecond;
    for (const std::string &folder : Folders(root + version.tree, std::string(parts[2]))) {
      const std::optional<uint64_t> room = RoomOf(folder, version);
      if (room && (!found.room || *room < *found.room)) found.room = room;
      if (!found.kills) found.kills = Named(Text(folder + version.events), "oom_kill");
    }
  }
  return found;
}

}  // namespace commsched::runtime
