// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gRPC transport: one process per rank, one stream for each pair of ranks.
// Implements the contract of runtime/transport.h; transport.proto describes
// what goes over the wire.
//
// Copies: none on the sending side for parts above 4 KiB, one on the receiving
// side, from what the socket was read into to the receive's buffer, or none
// with RecvStream. A message that comes before its receive is posted is kept
// only if it has at most GrpcOptions::eager_bytes, and costs one copy more.
//
// Security: who has not proved that it has the job's token is not looked at
// (admission.h). Without TLS a rank listens on, and dials, this machine only.
#ifndef COMMSCHED_GRPC_GRPC_TRANSPORT_H
#define COMMSCHED_GRPC_GRPC_TRANSPORT_H

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpc/security.h"
#include "runtime/core/packet_queue.h"
#include "runtime/transport.h"

namespace commsched::transport {

struct GrpcOptions {
  // TLS and the job's token. Without both, all addresses must lead to this machine
  // only: loopback addresses or "unix:path".
  SecurityOptions security = {};
  // Listen on the port of the own address on all interfaces; needs both.
  bool listen_any = false;
  // Gets a line for connections that are refused, from any thread.
  std::function<void(const std::string &)> log = {};
  // Threads that drive the network and copy received bytes.
  int threads = 1;
  // A long message is cut into parts of this size, between which a more urgent
  // one is sent; rounded up to a multiple of 64, at most 4 MiB.
  size_t chunk_bytes = runtime::core::kLargePacket;
  // Messages up to this size may be sent before the receive is posted, as far
  // as TransportOptions::unexpected_bytes of the receiver allows. A rank that is
  // behind the others finds them there; if it had to ask for them first, it
  // would stay behind.
  size_t eager_bytes = size_t{4} << 20;
  // A peer that answers nothing at all, not even at the level of TCP and
  // HTTP/2, is lost after at most twice this time.
  absl::Duration keepalive = absl::Seconds(10);
  // Congestion control of the TCP connections, such as "cubic" or "bbr"; empty:
  // the system's.
  std::string congestion_control = {};
};

// Listens on options.peers[options.rank], connects to all other ranks and
// exchanges what TransportOptions says must agree. Blocks until all are there.
// Errors: kInvalidArgument for options that make no sense, kUnavailable if the
// own address cannot be listened on or a peer is lost, kFailedPrecondition if a
// peer does not fit, kUnauthenticated or kPermissionDenied if tokens differ, kAborted if a peer gave up, kDeadlineExceeded naming the
// ranks that did not come.
// Silences gRPC's own log, unless GRPC_VERBOSITY is set in the environment.
absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectGrpc(
    runtime::TransportOptions options, GrpcOptions grpc = {});

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_GRPC_TRANSPORT_H
