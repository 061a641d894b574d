// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that is begun with standard files closed (`>&-`) would write what it prints into the
// next file that it opens. Free of MLIR and of the runtime, as all tools call it first.

#ifndef COMMSCHED_TOOLS_SUPPORT_STANDARDFILES_H
#define COMMSCHED_TOOLS_SUPPORT_STANDARDFILES_H

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>

namespace commsched {

/// Writing to a standard output that was closed is an error; a standard error that was is /dev/null.
inline void openStandardFiles() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd)
      _exit(1);
}

/// A file that becomes larger than a process may write (`ulimit -f`) is an error as a full disk is, and
/// no crash. After what sets handlers of signals, as LLVM does.
inline void takeLimitsForErrors() { signal(SIGXFSZ, SIG_IGN); }

} // namespace commsched

#endif // COMMSCHED_TOOLS_SUPPORT_STANDARDFILES_H
