// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/outputs.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"

namespace commsched::run {

std::string OwnPath(const Options &options, const std::string &path) {
  if ((options.rank <= 0 && !options.is_server()) || options.spawned) return path;
  absl::string_view stem = path, ending = ".json";
  for (absl::string_view known : {".json", ".html"})
    if (absl::ConsumeSuffix(&stem, known)) ending = known;
  if (options.is_server())
    return absl::StrCat(stem, ".server", options.index, ending);
  return absl::StrCat(stem, ".rank", options.rank, ending);
}

absl::Status CheckOutputs(const Options &options, bool folder) {
  if (options.spawned) return absl::OkStatus();  // the parent has
  std::vector<std::string> paths;
  auto add = [&](const std::string &path, bool own) {
    if (!path.empty() && (own || options.rank <= 0))
      paths.push_back(own ? OwnPath(options, path) : path);
  };
  add(options.save_params, false);
  if (!folder) add(options.checkpoint, false);
  add(options.metrics_json, false);
  add(options.calibrate, false);
  add(options.page, true);
  add(options.trace, true);
  add(options.profile, true);
  for (const std::string &path : paths)
    if (absl::Status s = runtime::CheckWritable(path); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status SaveOrElsewhere(const std::string &path, absl::string_view what,
                             const std::function<absl::Status(const std::string &)> &save) {
  absl::Status status = save(path);
  if (status.ok()) return status;
  const std::string name =
      absl::StrCat(path.substr(path.rfind('/') + 1), ".saved.", getpid());
  const char *temporary = std::getenv("TMPDIR");
  for (const char *place : {".", temporary, "/tmp", "/var/tmp"}) {
    if (place == nullptr || *place == 0) continue;
    const std::string other = absl::StrCat(place, "/", name);
    if (save(other).ok())
      return absl::Status(status.code(), absl::StrCat(status.message(), "; ", what,
                                                      " in ", other));
  }
  return status;
}

}  // namespace commsched::run
