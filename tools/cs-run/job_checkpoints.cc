// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/job_checkpoints.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/data/tensor_file.h"
#include "runtime/servers/server_values.h"
#include "runtime/session/job_files.h"
#include "tools/cs-run/outputs.h"

namespace commsched::run {
namespace {

using runtime::JobFiles;

constexpr int kLockTries = 40;
constexpr useconds_t kLockPause = 50'000;

bool HasInit(const runtime::PlanImage &image) {
  const auto program = image.ForRank(0);
  return program.ok() && FindFunction(**program, "init").ok();
}

bool IsFolder(const std::string &path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// Until the process ends. `alone`: the job is one process with its children; processes by hand
// share the folder. Files of two jobs, an old one that still runs and what was begun in its
// place, would be taken for those of one. Where a file system has no locks, there is none.
absl::Status LockFolder(const std::string &path, bool alone) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::OkStatus();  // whoever writes will say it
  const int how = (alone ? LOCK_EX : LOCK_SH) | LOCK_NB;
  // One that has just been killed is gone soon.
  for (int tries = 0; flock(fd, how) != 0 && errno == EWOULDBLOCK; ++tries) {
    if (tries == kLockTries)
      return absl::FailedPreconditionError(
          absl::StrCat("--checkpoint ", path, ": another job writes its checkpoints there"));
    usleep(kLockPause);
  }
  return absl::OkStatus();
}

bool IsSame(const std::string &a, const std::string &b) {
  std::error_code error;
  return !a.empty() && !b.empty() && std::filesystem::equivalent(a, b, error);
}

absl::Status SetInitialValues(const Options &options, const runtime::PlanImage &image,
                              runtime::ParameterServer *server) {
  std::optional<runtime::TensorFile> file;
  if (!options.init.empty()) {
    auto read = runtime::ReadTensorFile(options.init);
    if (!read.ok()) return read.status();
    file = *std::move(read);
  }
  // As of trainers: they are zero.
  if (options.emulate && !file && !HasInit(image)) return absl::OkStatus();
  return runtime::InitialiseServer(image, file ? &*file : nullptr, options.index, server);
}

// Of all servers, or of the one that this process is.
bool HasFiles(const Options &options, const JobFiles &files) {
  return options.is_server() ? files.any_of_server(options.index) : files.any();
}

}  // namespace

absl::Status CheckJobCheckpoints(const Options &options, const runtime::PlanImage &image) {
  if (image.servers().servers.empty()) return absl::OkStatus();
  if (options.checkpoint_every == 0 && !options.checkpoint.empty())
    return absl::InvalidArgumentError(
        "--checkpoint needs --checkpoint-every where parameter servers are processes");
  const std::string &from = options.resume_job.empty() ? options.resume : options.resume_job;
  if (!from.empty() && !IsFolder(from) && (options.init.empty() || access(from.c_str(), F_OK) == 0))
    return absl::InvalidArgumentError(absl::StrCat(
        from, ": must be a folder: parameter servers that are processes go on from one"));
  if (!options.checkpoint.empty()) {
    if (absl::Status s = MakeFolder("--checkpoint", options.checkpoint); !s.ok()) return s;
    if (absl::Status s = LockFolder(options.checkpoint, options.spawn != 0); !s.ok()) return s;
    auto files = JobFiles::Of(image, options.checkpoint);
    if (!files.ok()) return files.status();
    if (!IsSame(options.checkpoint, from) && !options.has_servers() &&
        HasFiles(options, *files))
      return absl::FailedPreconditionError(absl::StrCat(
          options.checkpoint,
          ": has checkpoints of a job already: give --resume to go "
          "on from them, or another folder"));
  }
  return absl::OkStatus();
}

absl::Status PrepareJobCheckpoints(const runtime::PlanImage &image, Options *job) {
  const Options &options = *job;
  if (options.resume.empty()) return absl::OkStatus();
  auto files = JobFiles::Of(image, options.resume);
  if (!files.ok()) return files.status();
  // What is left of another is no half-finished checkpoint, and is not removed as one.
  if (absl::Status s = files->CheckPlan(image); !s.ok()) return s;
  const std::optional<uint64_t> step = files->NewestWhole();
  // That it died before its first checkpoint is no reason not to begin again.
  if (!step && options.init.empty() && (!files->any() || !(HasInit(image) || options.emulate)))
    return absl::NotFoundError(absl::StrCat(options.resume, ": has no ", files->any() ? "whole " : "",
                                            "checkpoint of a job: give --init to begin"));
  if (IsSame(options.checkpoint, options.resume)) files->Begin(step);
  if (step) job->resume_job = options.resume;
  if (step)
    std::printf("resumes after step %llu\n", static_cast<unsigned long long>(*step));
  else
    std::printf("%s: has no whole checkpoint: begins\n", options.resume.c_str());
  return absl::OkStatus();
}

void TidyJobCheckpoints(const Options &options, const runtime::PlanImage &image) {
  if (options.checkpoint.empty()) return;
  auto files = JobFiles::Of(image, options.checkpoint);
  if (!files.ok()) return;
  for (size_t k = 0; k < image.servers().servers.size(); ++k)
    files->RemoveOldOfServer(int(k));
  for (int r = 0; r < image.nodes(); ++r) files->RemoveOldOfRank(r);
}

absl::Status SetServerValues(const Options &options, const runtime::PlanImage &image,
                             runtime::ParameterServer *server) {
  const std::string &from = options.resume_job.empty() ? options.resume : options.resume_job;
  if (from.empty() || image.servers().servers[size_t(options.index)].blocks.empty())
    return SetInitialValues(options, image, server);
  auto files = JobFiles::Of(image, from);
  if (!files.ok()) return files.status();
  if (options.resume_job.empty()) {
    const JobFiles::Newest newest = files->NewestOfServer(options.index);
    return server->Restore(newest.path, newest.whole_job);
  }
  if (absl::Status s = files->CheckPlan(image); !s.ok()) return s;
  const std::optional<uint64_t> step = files->NewestWhole();
  if (!step && files->any())
    std::printf("server %d: %s: has no whole checkpoint: begins\n", options.index, from.c_str());
  absl::Status set = step ? server->Restore(files->ServerPath(options.index, *step), true)
                          : SetInitialValues(options, image, server);
  // Not before the job can begin again.
  if (set.ok() && IsSame(options.checkpoint, from)) files->BeginOfServer(options.index, step);
  return set;
}

}  // namespace commsched::run
