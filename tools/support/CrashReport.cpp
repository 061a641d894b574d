// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/support/CrashReport.h"

#include "llvm/Support/Signals.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

/// Safe in a signal handler.
static void print(const char *text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
    _exit(commsched::kInternalErrorStatus);
}

static void report(void *cookie) {
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
  if (!std::getenv("COMMSCHED_STACK_TRACE"))
    // Before LLVM's own, which is added later and would come second.
    llvm::sys::AddSignalHandler(report, const_cast<const char **>(argv));
}
