// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of gRPC, and what they mean: which are refused, what range the others are
// brought into, and what gRPC is told. Functions of their arguments only.
#ifndef COMMSCHED_GRPC_BASE_OPTIONS_H
#define COMMSCHED_GRPC_BASE_OPTIONS_H

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpc/base/security.h"
#include "runtime/core/packet_size.h"
#include "runtime/transport/transport.h"

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
  // Messages are few and far between. While none is under way, nobody waits for the network:
  // it is looked at now and then, so that what comes then is heard of some milliseconds late. A
  // thread that waits has a part in what comes for all other connections of its process, and
  // makes each message of these more expensive.
  bool seldom = false;
  // A long message is cut into parts of this size, between which a more urgent
  // one is sent; rounded up to a multiple of 64, at most 4 MiB.
  size_t chunk_bytes = runtime::core::kLargePacket;
  // Messages up to this size may be sent before the receive is posted, as far
  // as TransportOptions::unexpected_bytes of the receiver allows. A rank that is
  // behind the others finds them there; if it had to ask for them first, it
  // would stay behind.
  size_t eager_bytes = plan::kEagerBytes;
  // Between processes of one host and one network namespace packets go through memory that
  // both share, if both want it, of so many bytes each way: a power of two. The environment
  // variable COMMSCHED_SHARED_MEMORY=0 turns it off too.
  bool shared_memory = true;
  size_t shared_bytes = size_t{1} << 20;
  // A peer that answers nothing at all, not even at the level of TCP and
  // HTTP/2, is lost after at most twice this time.
  absl::Duration keepalive = absl::Seconds(10);
  // Congestion control of the TCP connections, such as "cubic" or "bbr"; empty:
  // the system's.
  std::string congestion_control = {};
};

// kInvalidArgument if rank, number of nodes and addresses do not fit together.
absl::Status CheckOptions(const runtime::TransportOptions &options);

// With sizes that the protocol allows.
GrpcOptions Clamped(GrpcOptions options);

// Arguments of gRPC, set alike on channels and servers.
std::vector<std::pair<std::string, int>> ChannelArguments(
    const GrpcOptions &options);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_OPTIONS_H
