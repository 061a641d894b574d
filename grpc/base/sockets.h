// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sockets of gRPC's TCP connections: their congestion control (TCP_CONGESTION), and how much may be
// on the way (send_queues.h).
#ifndef COMMSCHED_GRPC_BASE_SOCKETS_H
#define COMMSCHED_GRPC_BASE_SOCKETS_H

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <string>

#include "absl/status/status.h"

namespace commsched::transport {

// kInvalidArgument naming those there are if the system has no control of this
// name; kUnimplemented if this gRPC gives no access to its sockets.
absl::Status CheckCongestion(const std::string &control);

// What is connected with these arguments, or accepted by this server, uses
// `control`, which was checked; with an empty one, the system's. With a gRPC that gives no access to
// its sockets they are as the system makes them.
void PrepareSockets(const std::string &control, grpc::ChannelArguments *arguments);
void PrepareSockets(const std::string &control, grpc::ServerBuilder *builder);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SOCKETS_H
