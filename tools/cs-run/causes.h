// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the errors of all processes of a cluster, those that the others come from.
#ifndef COMMSCHED_TOOLS_CS_RUN_CAUSES_H
#define COMMSCHED_TOOLS_CS_RUN_CAUSES_H

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace commsched::run {

// How one process, of a rank or of a parameter server, ended. Times are nanoseconds of the steady
// clock, which all processes of a machine share.
struct Outcome {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  absl::Status report;           // what the rank says went wrong; OK: nothing
  int64_t reported = kNever;     // when
  int exit_status = 0;           // unless ended by a signal
  int signal = 0;                // that ended it
  bool out_of_memory = false;    // the system sent it, as memory was used up
  int64_t ended_by_us = kNever;  // when it was told to end, because of others
};

// The lines to print, without "cs-run: ": one for each cause. An error that
// tells of a peer which has failed as well is not a cause. Errors with the same
// text, or of the same peer that has not failed itself, are one cause.
// The last `servers` of the outcomes are those of the parameter servers.
// `addresses` are those of the processes; the lines leave them out.
std::vector<std::string> Causes(const std::vector<Outcome> &outcomes,
                                const std::vector<std::string> &addresses,
                                int servers = 0);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_CAUSES_H
