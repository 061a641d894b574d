// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"

namespace commsched::run {
namespace {

struct File {
  const char *option;
  std::string path;
};

// By which two are compared. Where the disk does not say where a path leads, it is the path.
std::filesystem::path Canonical(const std::string &path) {
  std::error_code error;
  const auto found = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path) : found;
}

// Of files that are replaced: what another option wrote, or what is read, would be lost.
absl::Status CheckDistinct(const Options &options, const std::vector<File> &written) {
  namespace fs = std::filesystem;
  std::vector<File> all = {
      {"the plan", options.plan}, {"--batch", options.batch}, {"--eval-batch", options.eval_batch}};
  for (const File &file : written) {
    std::error_code error;
    if (fs::exists(file.path, error) && !fs::is_regular_file(file.path, error)) continue;
    const fs::path path = Canonical(file.path);
    for (const File &other : all)
      if (!other.path.empty() && path == Canonical(other.path))
        return absl::InvalidArgumentError(absl::StrCat(
            file.option, " must be another file than ", other.option, ", got: ", file.path));
    all.push_back(file);
  }
  return absl::OkStatus();
}

}  // namespace

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
  std::vector<File> files;
  auto add = [&](const char *option, const std::string &path, bool own) {
    if (!path.empty() && (own || options.rank <= 0))
      files.push_back({option, own ? OwnPath(options, path) : path});
  };
  add("--save-params", options.save_params, false);
  if (!folder) add("--checkpoint", options.checkpoint, false);
  add("--metrics-json", options.metrics_json, false);
  add("--calibrate", options.calibrate, false);
  add("--report", options.page, true);
  add("--trace", options.trace, true);
  add("--profile", options.profile, true);
  for (const File &file : files)
    if (absl::Status s = runtime::CheckWritable(file.path); !s.ok()) return s;
  return CheckDistinct(options, files);
}

absl::Status MakeFolder(absl::string_view option, const std::string &path) {
  auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " ", path, ": ", what, ": ", std::strerror(errno)));
  };
  std::error_code error;
  if (mkdir(path.c_str(), 0777) != 0 && !(errno == EEXIST && std::filesystem::is_directory(path, error)))
    return bad("is no folder and cannot be made one");
  if (access(path.c_str(), W_OK | X_OK) != 0) return bad("cannot be written to");
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
