// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the links from parameter servers to a trainer, by pulls of the values
// that the servers have: nothing is pushed, so nothing changes.
#ifndef COMMSCHED_TOOLS_CS_RUN_SERVER_LINKS_H
#define COMMSCHED_TOOLS_CS_RUN_SERVER_LINKS_H

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/calibration/measure.h"
#include "runtime/program/server_program.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::run {

// The cost of the link to server `server`. Blocks have the sizes that they have:
// where the largest is not twice the smallest, the bandwidth has everything in it;
// where fewer than eight are small (16 KiB), the latency has the overhead in it.
absl::StatusOr<calibration::LinkCost> MeasureServerLink(runtime::ParameterClient *client,
                                                        const runtime::ServersProgram &servers,
                                                        int server, absl::Duration deadline);

// Of this trainer's compute, while it pulls from all servers.
absl::StatusOr<calibration::Slowdown> MeasureServerSlowdown(runtime::ParameterClient *client,
                                                            const runtime::ServersProgram &servers,
                                                            absl::Duration deadline);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_SERVER_LINKS_H
