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

// The empty string and code 0 if there is none.
std::string Read(int fd, Head *head) {
  *head = {};
  struct stat about;
  if (!HasReport(fd) || fstat(fd, &about) != 0) return "";
  std::string bytes(size_t(about.st_size), '\0');
  if (pread(fd, bytes.data(), bytes.size(), 0) != about.st_size) return "";
  std::memcpy(head, bytes.data(), sizeof(*head));
  return bytes.substr(sizeof(*head));
}

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

bool WriteResult(int fd, absl::string_view result) { return WriteReport(fd, absl::StatusCode::kOk, result); }

absl::Status ReadReport(int fd, int64_t *time) {
  Head head;
  const std::string text = Read(fd, &head);
  if (head.code == 0) return absl::OkStatus();
  *time = head.time;
  return absl::Status(static_cast<absl::StatusCode>(head.code), text);
}

std::string ReadResult(int fd) {
  Head head;
  std::string text = Read(fd, &head);
  return head.code == 0 ? text : "";
}

}  // namespace commsched::run
