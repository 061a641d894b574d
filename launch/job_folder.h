// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder for what the processes of a job share while they run: sockets, parts of
// traces. Whoever has it open holds a lock of it; a folder without one is of a job
// that was killed, and the next job that makes one beside it removes it.
#ifndef COMMSCHED_LAUNCH_JOB_FOLDER_H
#define COMMSCHED_LAUNCH_JOB_FOLDER_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace commsched::launch {

class JobFolder {
 public:
  JobFolder() = default;
  JobFolder(JobFolder &&other) { *this = std::move(other); }
  JobFolder &operator=(JobFolder &&other);
  // Removes it with all files in it, unless other processes have it open too.
  ~JobFolder();

  // A new one in `base`, which only this user may enter.
  static absl::StatusOr<JobFolder> Make(const std::string &base);
  // The one of this name in `base`, made by whoever comes first. kUnavailable if
  // it is of another user, or others may enter it.
  static absl::StatusOr<JobFolder> Join(const std::string &base,
                                        const std::string &name);
  // Where sockets may be: TMPDIR unless it is too long for them, else /tmp.
  static std::string Base();

  const std::string &path() const { return path_; }
  // "unix:" and a name in it, of each of `count` processes.
  std::vector<std::string> Addresses(int count) const;
  // The first line of a file in it that all processes share, `text` of whoever
  // comes first.
  absl::StatusOr<std::string> Agree(const std::string &name,
                                    const std::string &text) const;

 private:
  // Without a path if it is being removed.
  static absl::StatusOr<JobFolder> Open(const std::string &path);

  std::string path_;
  int fd_ = -1;
};

// Removes in `base` the folders of jobs of this user that nobody has open.
void RemoveAbandoned(const std::string &base);

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_JOB_FOLDER_H
