// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_TOOLS_SUPPORT_CRASHREPORT_H
#define COMMSCHED_TOOLS_SUPPORT_CRASHREPORT_H

namespace commsched {

/// Exit status after a defect of the program itself (EX_SOFTWARE of sysexits.h).
inline constexpr int kInternalErrorStatus = 70;

/// From now on a fatal signal (a segmentation fault, a failed assertion, a stack
/// that is too small) ends the process with one error on stderr, which repeats
/// the command, and kInternalErrorStatus; no more memory or threads to be had, with
/// one that says so, and status 1. Output files that are being written
/// are removed. With COMMSCHED_STACK_TRACE set in the environment it is left to
/// LLVM, which prints a stack trace. Call it first in main; `argv` must stay.
void reportCrashesAsErrors(const char *const *argv);

} // namespace commsched

#endif // COMMSCHED_TOOLS_SUPPORT_CRASHREPORT_H
