// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tool that a program runs for itself ends with that program, however that ends: the
// environment names it, COMMSCHED_STARTED_BY=<pid>. Processes that the tool starts do not
// see it. Free of MLIR and of the runtime, as all tools call it first.

#ifndef COMMSCHED_TOOLS_SUPPORT_ENDWITHSTARTER_H
#define COMMSCHED_TOOLS_SUPPORT_ENDWITHSTARTER_H

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace commsched {

/// 0 if it has gone.
inline pid_t parentOf(pid_t process) {
  if (process == getpid())
    return getppid();
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/status", int(process));
  FILE *status = std::fopen(path, "re");
  if (!status)
    return 0;
  int parent = 0;
  char line[256];
  while (std::fgets(line, sizeof(line), status))
    if (std::sscanf(line, "PPid: %d", &parent) == 1)
      break;
  std::fclose(status);
  return parent;
}

inline void endWithStarter() {
  const char *named = std::getenv("COMMSCHED_STARTED_BY");
  if (!named)
    return;
  const pid_t starter = std::atoi(named);
  unsetenv("COMMSCHED_STARTED_BY");
  // Of the parent, which may be a wrapper that the starter has started.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have gone before that. Then this process has another parent.
  for (pid_t ancestor = getpid(); ancestor != starter;)
    if ((ancestor = parentOf(ancestor)) <= 0)
      std::_Exit(1);
}

} // namespace commsched

#endif // COMMSCHED_TOOLS_SUPPORT_ENDWITHSTARTER_H
