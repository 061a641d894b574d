// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_MERGE_TRACE_H
#define COMMSCHED_TOOLS_CS_RUN_MERGE_TRACE_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace commsched::run {

// Makes one trace out of those of the ranks, in order, which count from the
// same time, and deletes them; the last `servers` are those of parameter servers.
// Where a process has none, because it has died or
// never begun, the trace says so. Returns whether a trace is written: not if no process has one.
absl::StatusOr<bool> MergeTraces(const std::vector<std::string> &ranks,
                                 const std::string &path, int servers = 0);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_MERGE_TRACE_H
