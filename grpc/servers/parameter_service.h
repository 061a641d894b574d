// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server on the network: takes what trainers send, over gRPC, to a
// runtime::ParameterServer, and its answers back. The protocol, and which
// updates count exactly once, are described in
// docs/parameter-server-protocol.md.
//
//   auto server = ParameterServer::Create(image, ...);
//   if the checkpoint file is there: server->Restore(it); else SetWhole(...)
//   auto service = ParameterService::Start(server->get(), options);
//   absl::Status status = (*service)->Wait();
//
// Threading: all methods may be called from any thread.
#ifndef COMMSCHED_GRPC_SERVERS_PARAMETER_SERVICE_H
#define COMMSCHED_GRPC_SERVERS_PARAMETER_SERVICE_H

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
#include "runtime/program/rows_message.h"
#include "runtime/program/server_program.h"

namespace commsched::plan {
class Plan;
}
namespace commsched::runtime {
class ParameterServer;
}

namespace commsched::transport {

struct ParameterServiceOptions {
  int server = 0;  // index in the plan's ParameterServers
  int servers = 1;
  int trainers = 1;  // ranks 0 .. trainers - 1
  uint64_t plan_digest = 0;
  // Of each block of this server, what is pushed to it: BlockProgram::pushed.
  std::vector<size_t> block_bytes;
  // The same of a block of rows, in place of its bytes; of
  // others, and of those that are not in it, without rows.
  std::vector<runtime::RowLayout> block_rows;
  // "host:port", "[ipv6]:port" or "unix:path". Without TLS and a token it must
  // be a loopback address or a socket file.
  std::string address;
  SecurityOptions security;
  // Gets a line for connections that are refused, from any thread.
  std::function<void(const std::string &)> log = {};

  // How long all trainers together may take to join for the first time.
  absl::Duration join_deadline = absl::Seconds(60);
  // How long a trainer whose connection broke may take to come back.
  absl::Duration grace = absl::Seconds(10);
  // A peer that answers nothing at all, not even at the level of TCP and
  // HTTP/2, is lost after at most twice this time.
  absl::Duration keepalive = absl::Seconds(10);

  // The file that ParameterServer::Save writes, at every cut of the server, and
  // when a trainer finishes. `checkpoint_steps` is what the server has been told
  // of cuts. 0: never; a server that dies then cannot come back.
  std::string checkpoint;
  uint64_t checkpoint_steps = 0;

  // Values are sent in parts of this size; at most 4 MiB.
  size_t chunk_bytes = size_t{256} << 10;
  // As GrpcOptions::shared_memory.
  bool shared_memory = true;
  // Threads that drive the network and copy received bytes.
  int threads = 2;
};

class ParameterService {
 public:
  // Listens; does not wait for trainers. `server`, on which everything that
  // must precede the first Join has been done, outlives the service. Errors:
  // kInvalidArgument for options that make no sense, kUnavailable if the
  // address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<ParameterService>> Start(
      runtime::ParameterServer *server, ParameterServiceOptions options);
  // Stops if that has not been done.
  virtual ~ParameterService() = default;

  // Waits until all trainers have finished and gone (true also of one that has
  // finished and whose connection is lost), or the job has failed and those who
  // are there have been told; returns why.
  virtual absl::Status Wait() = 0;

  // Ends everything: trainers that are there are told `why`.
  virtual void Stop(const absl::Status &why) = 0;
  // After it: until those who are there have been told, two seconds at most. Does not wait for trainers of a job that has ended well.
  virtual void WaitUntilTold() = 0;

  // Sums of payload, for reports.
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;
  virtual uint64_t checkpoints() const = 0;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_PARAMETER_SERVICE_H
