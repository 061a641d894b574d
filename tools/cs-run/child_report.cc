// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/child_report.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

namespace commsched::run {
namespace {

struct Head {
  int64_t time;
  int64_t code;
};

}  // namespace

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int MakeReportFile() { return memfd_create("cs-run report", MFD_CLOEXEC); }

bool WriteReport(int fd, const absl::Status &status) {
  return WriteReport(fd, status.code(), status.message());
}

bool WriteReport(int fd, absl::StatusCode code, absl::string_view message) {
  if (HasReport(fd)) return true;
  Head head = {Now(), static_cast<int64_t>(code)};
  const iovec parts[] = {{&head, sizeof(head)}, {const_cast<char *>(message.data()), message.size()}};
  return pwritev(fd, parts, 2, 0) == ssize_t(sizeof(head) + message.size());
}

bool HasReport(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && about.st_size >= off_t(sizeof(Head));
}

void WriteNeedsNobody(int fd) {
  // A report takes its place. If it cannot be said, the process is one that needs others.
  if (!HasReport(fd) && pwrite(fd, "", 1, 0) < 0) return;
}

bool NeedsNobody(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && about.st_size == 1;
}

absl::Status ReadReport(int fd, int64_t *time) {
  struct stat about;
  if (!HasReport(fd) || fstat(fd, &about) != 0) return absl::OkStatus();
  std::string bytes(size_t(about.st_size), '\0');
  if (pread(fd, bytes.data(), bytes.size(), 0) != about.st_size)
    return absl::OkStatus();
  Head head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  *time = head.time;
  return absl::Status(static_cast<absl::StatusCode>(head.code),
                      absl::string_view(bytes).substr(sizeof(head)));
}

}  // namespace commsched::run
