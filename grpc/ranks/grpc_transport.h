// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gRPC transport: one process per rank, one stream for each pair of ranks.
// Implements the contract of runtime/transport/transport.h; transport.proto describes
// what goes over the wire.
//
// Copies: none on the sending side for parts above 4 KiB, one on the receiving
// side, from what the socket was read into to the receive's buffer, or none
// with RecvStream. A message that comes before its receive is posted is kept
// only if it has at most GrpcOptions::eager_bytes, and costs one copy more.
//
// Security: who has not proved that it has the job's token is not looked at
// (admission.h). Without TLS a rank listens on, and dials, this machine only.
#ifndef COMMSCHED_GRPC_RANKS_GRPC_TRANSPORT_H
#define COMMSCHED_GRPC_RANKS_GRPC_TRANSPORT_H

#include <memory>

#include "absl/status/statusor.h"
#include "grpc/base/options.h"
#include "runtime/transport/transport.h"

namespace commsched::transport {

// Listens on options.peers[options.rank], connects to all other ranks and
// exchanges what TransportOptions says must agree. Blocks until all are there.
// Errors: kInvalidArgument for options that make no sense, kUnavailable if the
// own address cannot be listened on or a peer is lost, kFailedPrecondition if a
// peer does not fit, kUnauthenticated or kPermissionDenied if tokens differ, kAborted if a peer
// gave up, kDeadlineExceeded naming the ranks that did not come. Silences gRPC's own log, unless
// GRPC_VERBOSITY is set in the environment.
absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectGrpc(
    runtime::TransportOptions options, GrpcOptions grpc = {});

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_RANKS_GRPC_TRANSPORT_H
