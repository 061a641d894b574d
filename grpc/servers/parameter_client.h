// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trainer's connections to the parameter servers of its job over gRPC.
// docs/parameter-server-protocol.md describes what goes over the wire and which
// updates count exactly once.
//
// Copies: one per push, into memory that is kept until the server says that the
// update survives its death, or none if the server keeps no checkpoints: then
// `done` comes when it has the bytes. One per pull, from what the socket was
// read into to the buffer.
#ifndef COMMSCHED_GRPC_SERVERS_PARAMETER_CLIENT_H
#define COMMSCHED_GRPC_SERVERS_PARAMETER_CLIENT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpc/base/security.h"
#include "runtime/program/server_program.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::transport {

struct ParameterClientOptions {
  int trainer = 0;  // rank
  int trainers = 1;
  uint64_t plan_digest = 0;
  uint64_t run_digest = 0;  // the same of all trainers
  // Of this process: the same where it connects again, as what its first connections left behind would be another's. 0: drawn.
  uint64_t session = 0;
  // Not OK: it comes only to say this to all servers that are there within the deadline, whatever data the others have, and
  // fails with it.
  absl::Status gives_up = {};
  std::vector<std::string> servers;  // addresses, as those listen on
  runtime::ServerOrder order;        // at first; see SetOrder
  SecurityOptions security;

  // How long all servers together may take to be there at the beginning, and
  // how long one that is lost may take to come back.
  absl::Duration deadline = absl::Seconds(30);
  // A server that answers nothing at all, not even at the level of TCP and
  // HTTP/2, is lost after at most twice this time.
  absl::Duration keepalive = absl::Seconds(10);
  // A push is sent in parts of this size; at most 4 MiB.
  size_t chunk_bytes = size_t{256} << 10;
  // As GrpcOptions::shared_memory.
  bool shared_memory = true;
  // Threads that drive the network and copy received bytes.
  int threads = 1;
  // Called at most once, with what every pending and later operation fails
  // with; not for Abort and Close of this side.
  std::function<void(const absl::Status &)> on_failure = {};
};

// A session that no other process has.
uint64_t NewSession();

// Blocks until all servers have accepted this trainer. Errors, which name the
// server by index and address: kInvalidArgument for options that make no sense,
// kFailedPrecondition if plans, numbers of trainers or steps do not fit,
// kUnauthenticated for a wrong token, kAborted for a job that has failed,
// kDeadlineExceeded for servers that did not come, with the last error, which
// may be a certificate that the other side does not trust.
absl::StatusOr<std::unique_ptr<runtime::ParameterClient>>
ConnectParameterServers(ParameterClientOptions options);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_PARAMETER_CLIENT_H
