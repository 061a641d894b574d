// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/out_of_memory.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "absl/base/internal/raw_logging.h"

namespace commsched::runtime {
namespace {

constexpr char kNoThread[] =
    "cannot start a thread: a limit of the user (ulimit -u), of the container (pids.max) or of memory (ulimit -v) is reached";

void (*to_say)(const char *) = nullptr;
std::terminate_handler before = nullptr;
bool takes_signals = false;

const char *NoMemory() {
  static char text[64] = "out of memory";
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    std::snprintf(text, sizeof(text), "out of memory: ulimit -v is %llu",
                  static_cast<unsigned long long>(limit.rlim_cur >> 10));
  return text;
}

// The stack of a thread, and as much as most others need.
bool MemoryIsLeft() {
  rlimit stack;
  const bool limited = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY;
  const size_t size = (limited ? size_t(stack.rlim_cur) : 0) + (8 << 20);
  void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at != MAP_FAILED && munmap(at, size) == 0;
}

// A process counts as a thread does. By the system itself: the library's fork() takes locks that
// whoever was interrupted may have.
bool ThreadsAreLeft() {
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) syscall(SYS_exit_group, 0);
  if (child < 0) return errno != EAGAIN;
  while (waitpid(pid_t(child), nullptr, 0) < 0 && errno == EINTR) {
  }
  return true;
}

[[noreturn]] void End(const char *message) {
  static std::atomic<bool> said{false};
  while (said.exchange(true)) pause();
  to_say(message);
  _exit(1);
}

void OnTerminate() {
  const char *missing = WhatIsMissing();
  if (missing != nullptr) End(missing);
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const std::bad_alloc &) {
      End(NoMemory());  // more than what is tried
    } catch (const std::system_error &error) {
      // Meanwhile another thread has ended.
      if (error.code() == std::errc::resource_unavailable_try_again) End(kNoThread);
    } catch (...) {
    }
  } else if (std::uncaught_exceptions() > 0) {
    End(kNoThread);  // thrown where threads are started one after another, of which the first are not joined
  }
  before();
}

void OnSignal(int number) {
  if (const char *missing = WhatIsMissing()) End(missing);
  signal(number, SIG_DFL);  // as without this: what ended it comes again
}

// Abseil says on its own that it has no memory for a thread, then aborts, which is said in one line.
bool IsSaid(absl::LogSeverity severity, const char *file, int line, char **text, int *size) {
  if (severity == absl::LogSeverity::kFatal && WhatIsMissing() != nullptr) return false;
  const int prefix = std::snprintf(*text, size_t(*size), "[%s : %d] RAW: ", file, line);
  if (prefix > 0 && prefix < *size) {
    *text += prefix;
    *size -= prefix;
  }
  return true;
}

}  // namespace

const char *WhatIsMissing() {
  return !MemoryIsLeft() ? NoMemory() : !ThreadsAreLeft() ? kNoThread
                                                          : nullptr;
}

void EndWhenOutOfMemory(void (*say)(const char *message), Abort signals) {
  if (to_say != nullptr) return;
  to_say = say;
  before = std::set_terminate(OnTerminate);
  // The C library loads what it unwinds its own frames with (pthread_once's) when it first needs that, and ends the process
  // where there is no memory for it.
  void *frame;
  backtrace(&frame, 1);
  if (signals == Abort::kLeave) return;
  takes_signals = true;
  absl::raw_logging_internal::RegisterLogFilterAndPrefixHook(IsSaid);
  for (int number : {SIGABRT, SIGSEGV}) {
    struct sigaction now;
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    sigaction(number, &action, nullptr);
  }
}

void EndInsteadOfAbort(const char *text) {
  if (!takes_signals) return;
  const char *missing = WhatIsMissing();
  End(missing != nullptr ? missing : text);
}

}  // namespace commsched::runtime
