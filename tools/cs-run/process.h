// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a process has from who started it, and what the system may do to it.
#ifndef COMMSCHED_TOOLS_CS_RUN_PROCESS_H
#define COMMSCHED_TOOLS_CS_RUN_PROCESS_H

#include "absl/status/status.h"

namespace commsched::run {

// Before anything else: standard streams that are closed become ones that cannot be used, so
// that no other file gets their number; a file that may not grow is an error, not a signal;
// a mapped file of which a page is gone ends the process with an error that names it, and
// having no more memory or threads with one that says so.
void PrepareProcess();

// From now on errors go into this file (child_report.h): the parent says them.
void SetReportFile(int fd);

// To the parent, else to standard error.
void Say(const absl::Status &status);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_PROCESS_H
