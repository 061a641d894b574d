// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/options.h"

#include <grpc/grpc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "grpc/base/address.h"
#include "grpc/base/shared_wire.h"

namespace commsched::transport {
namespace {

constexpr size_t kMaxChunk = size_t{4} << 20;
// A packet is at most a chunk, what was put in before it, and the headers.
constexpr size_t kMaxPacket = 3 * kMaxChunk;

}  // namespace

absl::Status CheckOptions(const runtime::TransportOptions &options) {
  if (options.nodes < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("number of nodes must be positive, got: ", options.nodes));
  if (options.rank < 0 || options.rank >= options.nodes)
    return absl::InvalidArgumentError(absl::StrCat(
        "rank must be in [0, ", options.nodes, "), got: ", options.rank));
  if (options.peers.size() != static_cast<size_t>(options.nodes))
    return absl::InvalidArgumentError(
        absl::StrCat("number of peer addresses must match the ", options.nodes,
                     " nodes, got: ", options.peers.size()));
  for (size_t i = 0; i < options.peers.size(); ++i) {
    if (absl::Status status = CheckAddress(options.peers[i]); !status.ok())
      return status;
    for (size_t j = 0; j < i; ++j)
      if (options.peers[i] == options.peers[j])
        return absl::InvalidArgumentError(
            absl::StrCat("ranks ", j, " and ", i,
                         " have the same address: ", options.peers[i]));
  }
  return absl::OkStatus();
}

GrpcOptions Clamped(GrpcOptions options) {
  options.chunk_bytes =
      (std::clamp<size_t>(options.chunk_bytes, 64, kMaxChunk) + 63) / 64 * 64;
  options.eager_bytes = std::min(options.eager_bytes, kMaxChunk);
  options.shared_bytes = SharedBytes(options.shared_bytes);
  options.shared_memory = options.shared_memory && SharesMemory();
  return options;
}

std::vector<std::pair<std::string, int>> ChannelArguments(
    const GrpcOptions &options) {
  const int keepalive = static_cast<int>(std::clamp<int64_t>(
      absl::ToInt64Milliseconds(options.keepalive), 100, 1 << 30));
  return {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(kMaxPacket)},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1},
      {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (16 << 20) - 1},
      // The window of a connection, which counts beside that of each stream, begins with 64 KiB and
      // only grows by these measurements, from 4 MiB on. Without them each packet waits to hear of
      // the one before: on a link of 1 Gbit/s a connection has half of the rate then.
      {GRPC_ARG_HTTP2_BDP_PROBE, 1},
      {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20},
      {GRPC_ARG_KEEPALIVE_TIME_MS, keepalive},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1},
      {GRPC_ARG_ALLOW_REUSEPORT, 0},
      {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
      {GRPC_ARG_ENABLE_RETRIES, 0},
      {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
      {GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1},
      {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
      // A connection may take this long, with TLS on a busy machine; what is given up sooner
      // and begun again keeps it busy.
      {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000},
      {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, 4},
  };
}

}  // namespace commsched::transport
