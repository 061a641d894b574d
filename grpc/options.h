// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user's options mean: which are refused, what range the others are
// brought into, and what gRPC is told. Functions of their arguments only.
#ifndef COMMSCHED_GRPC_OPTIONS_H
#define COMMSCHED_GRPC_OPTIONS_H

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpc/grpc_transport.h"
#include "runtime/transport.h"

namespace commsched::transport {

// kInvalidArgument if rank, number of nodes and addresses do not fit together.
absl::Status CheckOptions(const runtime::TransportOptions &options);

// With sizes that the protocol allows.
GrpcOptions Clamped(GrpcOptions options);

// Arguments of gRPC, set alike on channels and servers.
std::vector<std::pair<std::string, int>> ChannelArguments(
    const GrpcOptions &options);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_OPTIONS_H
