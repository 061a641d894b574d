// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameter servers of the same process.
#ifndef COMMSCHED_RUNTIME_SERVERS_IN_PROCESS_PARAMETER_CLIENT_H
#define COMMSCHED_RUNTIME_SERVERS_IN_PROCESS_PARAMETER_CLIENT_H

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "runtime/servers/parameter_server.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

using ParameterServers = std::vector<std::unique_ptr<ParameterServer>>;

// A client of trainer `trainer`, which has not joined: JoinParameterServers must
// precede everything but Abort and Close. The servers outlive the client.
std::unique_ptr<ParameterClient> MakeInProcessParameterClient(
    const ParameterServers *servers, int trainer);

// Joins all servers as each trainer of the plan.
absl::Status JoinParameterServers(const ParameterServers &servers, int trainers);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SERVERS_IN_PROCESS_PARAMETER_CLIENT_H
