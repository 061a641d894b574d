// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a rank that --spawn has started tells what went wrong: through a file in
// memory that it inherits, so that the parent can tell causes from what follows
// of them. Standard error stays free for what nobody foresaw.
#ifndef COMMSCHED_TOOLS_CS_RUN_CHILD_REPORT_H
#define COMMSCHED_TOOLS_CS_RUN_CHILD_REPORT_H

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace commsched::run {

// Nanoseconds of the steady clock, which all processes of a machine share.
int64_t Now();

// In the parent: a new empty file, or -1 with errno set. It is closed in
// programs that are started, unless the flag is taken off it.
int MakeReportFile();
// In the child. Later calls do nothing: the first error is the one that counts.
// Returns whether it is written.
bool WriteReport(int fd, const absl::Status &status);
// The same where nothing may be allocated.
bool WriteReport(int fd, absl::StatusCode code, absl::string_view message);
// Of a child that has ended well, in the place of an error: what its parent wants to know. Else the empty string.
bool WriteResult(int fd, absl::string_view result);
std::string ReadResult(int fd);
// In the parent, at any time.
bool HasReport(int fd);
// Says that the process needs no other any more, and has files to write; a report may still follow.
void WriteNeedsNobody(int fd);
bool NeedsNobody(int fd);
// OK if there is none. `time` becomes when it was written.
absl::Status ReadReport(int fd, int64_t *time);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_CHILD_REPORT_H
