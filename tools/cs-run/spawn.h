// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_SPAWN_H
#define COMMSCHED_TOOLS_CS_RUN_SPAWN_H

#include <string>
#include <vector>

#include "tools/cs-run/options.h"

namespace commsched::run {

// Runs this program once per trainer (or worker) and parameter server of the
// plan, connected by gRPC on this machine (ranks with each other if `connected`,
// or if there are no servers). Ranks get `arguments` (those of --spawn
// taken out; `options` are what they say) and their own; servers get what concerns
// them. Rank 0 writes to this process's output. If a process fails, the others get
// two seconds to end by themselves and are then ended; what the failure came from
// is written to standard error, once. The processes' traces become one. Returns the
// exit status: 0 if all ended with 0; `at_end` becomes what rank 0 has left (WriteResult). No process is left over, even if this one is
// killed.
int Spawn(const Options &options, const std::vector<std::string> &arguments,
          int ranks, int servers, bool connected, std::string *at_end);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_SPAWN_H
