// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/support/CrashReport.h"

#include "runtime/base/out_of_memory.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/// Safe in a signal handler.
static void print(const char *text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
    _exit(commsched::kInternalErrorStatus);
}

[[noreturn]] static void endWithout(const char *missing) {
  static std::atomic<bool> said{false};
  while (said.exchange(true))
    pause();
  print("error: ");
  print(missing);
  print("\n");
  // Without destructors: they may allocate.
  _exit(1);
}

static void endIfOutOfMemory() {
  if (const char *missing = commsched::runtime::WhatIsMissing())
    endWithout(missing);
}

/// LLVM's own checks, which say what it is in words of theirs.
static void onFatalError(void *, const char *reason, bool) {
  llvm::sys::RunInterruptHandlers();
  endIfOutOfMemory();
  print("LLVM ERROR: ");
  print(reason);
  print("\n");
}

static void report(void *cookie) {
  endIfOutOfMemory();
  print("error: internal error, a defect of this program or of MLIR; nothing "
        "was written; COMMSCHED_STACK_TRACE=1 shows where; the command was:");
  for (auto *argument = static_cast<const char *const *>(cookie); *argument;
       ++argument) {
    print(" ");
    print(*argument);
  }
  print("\n");
  // Without destructors: the heap may be what is broken.
  _exit(commsched::kInternalErrorStatus);
}

void commsched::reportCrashesAsErrors(const char *const *argv) {
  if (std::getenv("COMMSCHED_STACK_TRACE"))
    return;
  // Before LLVM's own, which is added later and would come second.
  llvm::sys::AddSignalHandler(report, const_cast<const char **>(argv));
  llvm::install_fatal_error_handler(onFatalError);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    llvm::sys::RunInterruptHandlers();
    endIfOutOfMemory();
    endWithout("out of memory"); // more at once than is tried
  });
}
