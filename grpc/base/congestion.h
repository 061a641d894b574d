// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TCP's congestion control, per socket (TCP_CONGESTION), of gRPC's connections.
#ifndef COMMSCHED_GRPC_BASE_CONGESTION_H
#define COMMSCHED_GRPC_BASE_CONGESTION_H

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <string>

#include "absl/status/status.h"

namespace commsched::transport {

// kInvalidArgument naming those there are if the system has no control of this
// name; kUnimplemented if this gRPC gives no access to its sockets.
absl::Status CheckCongestion(const std::string &control);

// What is connected with these arguments, or accepted by this server, uses
// `control`, which was checked. Nothing with an empty one.
void SetCongestion(const std::string &control, grpc::ChannelArguments *arguments);
void SetCongestion(const std::string &control, grpc::ServerBuilder *builder);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_CONGESTION_H
