// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/process.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/files.h"
#include "runtime/base/out_of_memory.h"
#include "tools/cs-run/child_report.h"
#include "tools/support/StandardFiles.h"

namespace commsched::run {
namespace {

std::atomic<int> report_file{-1};

// The thread that is here reads a mapped file, in our code: no lock of the allocator or of a
// stream is its own.
void OnBusError(int number, siginfo_t *info, void *) {
  static std::atomic<bool> said{false};
  const char *path = runtime::MappedFileAt(info->si_addr);
  if (path == nullptr) {
    signal(number, SIG_DFL);  // as without this: the access is repeated
    return;
  }
  while (said.exchange(true)) pause();
  Say(absl::DataLossError(absl::StrCat(
      path, ": has become shorter while it was used, or cannot be read any more")));
  _exit(1);
}

// Without allocating.
void SayMissing(const char *message) {
  const int fd = report_file;
  if (fd >= 0 && WriteReport(fd, absl::StatusCode::kResourceExhausted, message)) return;
  char line[256] = "cs-run: ";
  std::strncat(line, message, sizeof(line) - std::strlen(line) - 2);
  std::strcat(line, "\n");
  if (write(STDERR_FILENO, line, std::strlen(line)) < 0) return;
}

}  // namespace

void PrepareProcess() {
  openStandardFiles();
  takeLimitsForErrors();
  // Ranks have connections with many others; what is usual is for programs that use select().
  constexpr rlim_t kFiles = 1 << 16;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < std::min(kFiles, limit.rlim_max)) {
    limit.rlim_cur = std::min(kFiles, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  runtime::EndWhenOutOfMemory(SayMissing, runtime::Abort::kTake);
}

void SetReportFile(int fd) { report_file = fd; }

void Say(const absl::Status &status) {
  const int fd = report_file;
  if (fd < 0 || !WriteReport(fd, status))
    std::fprintf(stderr, "cs-run: %s\n", std::string(status.message()).c_str());
}

}  // namespace commsched::run
