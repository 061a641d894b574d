// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trainers of one parameter server, as its service knows them: the machine of
// runtime/core/trainers.h with connections.
//
// Threading: all methods may be called from any thread.
#ifndef COMMSCHED_GRPC_SERVERS_PARAMETER_HUB_H
#define COMMSCHED_GRPC_SERVERS_PARAMETER_HUB_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "grpc/base/admission.h"
#include "grpc/base/buffer_pool.h"
#include "grpc/servers/parameter_service.h"
#include "grpc/servers/parameter_service.pb.h"
#include "runtime/base/files.h"
#include "runtime/base/sync.h"
#include "runtime/core/trainers.h"
#include "runtime/servers/parameter_server.h"

namespace commsched::transport {

class ParameterConnection;

// Shared by its connections and by what the server still has to answer.
class ParameterHub : public std::enable_shared_from_this<ParameterHub> {
 public:
  static constexpr auto kTick = std::chrono::milliseconds(100);  // see CheckTimes

  ParameterHub(runtime::ParameterServer *server,
               const ParameterServiceOptions &options);

  const ParameterServiceOptions &options() const { return options_; }
  std::shared_ptr<std::byte[]> TakeBuffer(size_t bytes) {
    return pool_.Take(bytes);
  }

  // From connections; `trainer` has joined. Not OK: the connection is refused.
  absl::Status Join(const std::shared_ptr<ParameterConnection> &connection,
                    const parameter::Join &join);
  void Push(int trainer, uint32_t block, uint64_t step,
            runtime::SharedBytes payload);
  void Pull(int trainer, std::weak_ptr<ParameterConnection> connection,
            const parameter::Pull &asked);
  // `asked` says which rows, and is repeated in the answer.
  void PullRows(int trainer, std::weak_ptr<ParameterConnection> connection,
                parameter::Data asked, std::vector<int64_t> ids);
  void Finish(int trainer, uint64_t steps);
  // It says so, breaks the protocol, or leaves: for good.
  void Lost(int trainer, const absl::Status &why);
  void Goodbye(int trainer);
  void Closed(ParameterConnection *connection);
  void Accepted(const std::shared_ptr<ParameterConnection> &connection);
  void RefusedStranger(absl::string_view peer, absl::string_view why) {
    gate_.Log(peer, why);
  }

  Gate &gate() { return gate_; }
  Sharing &sharing() { return sharing_; }

  // For the threads of the service.
  // Trainers that are late are reported to the server; those who wait for a checkpoint that is being
  // saved hear that it is. To be called every kTick.
  void CheckTimes();
  // Saves whenever that is due, until Shutdown.
  void SaveLoop();
  // The server has ended: everybody is told. That it has failed is told behind an
  // end without an error too: its last checkpoint may be what fails.
  void Ended(const absl::Status &status);
  // Waits until everybody has gone, or has been told why the server has ended.
  absl::Status WaitUntilOver();
  // The same of one that is not to go on: at once, if it has ended without an error.
  void WaitUntilTold();
  // Drops all connections and waits until they are closed.
  void Shutdown();

  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }
  uint64_t checkpoints() const { return checkpoints_; }

 private:
  using Machine = runtime::core::Trainers;
  using Connections = std::vector<std::shared_ptr<ParameterConnection>>;

  // Of a server that has failed, until everybody has gone or been told, for a while; else nothing.
  void AwaitTold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The job ends, for all that have not gone.
  void CannotSave(const absl::Status &why);
  // What a trainer sends makes no sense to the server.
  void Refused(int trainer, const absl::Status &why);
  bool keeps_checkpoints() const { return options_.checkpoint_steps > 0; }
  void Taken(int trainer, uint32_t block, uint64_t step,
             const absl::Status &status);
  // Null: it is closed.
  std::shared_ptr<ParameterConnection> Find(Machine::Connection name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Puts them into the queues of connections, which are to be flushed without the lock,
  // or ended, or dropped.
  struct Spoken {
    Connections flush, end, drop;
  };
  Spoken Say(const Machine::Sayings &sayings) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Send(Spoken spoken);
  // A trainer that comes when the job has failed already.
  void Tell(int rank, const std::shared_ptr<ParameterConnection> &connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  runtime::ParameterServer *const server_;
  const ParameterServiceOptions options_;
  const runtime::Clock::time_point start_ = runtime::Clock::now();
  Sharing sharing_;
  Gate gate_;
  BufferPool pool_;
  std::atomic<uint64_t> bytes_sent_{0}, bytes_received_{0}, checkpoints_{0};

  runtime::Mutex mu_;
  runtime::CondVar changed_;
  Machine machine_ ABSL_GUARDED_BY(mu_);
  // Connections that are not closed, and when they came.
  struct Open {
    std::shared_ptr<ParameterConnection> connection;
    Machine::Connection name = 0;
    runtime::Clock::time_point since;
    bool joined = false;
  };
  std::vector<Open> open_ ABSL_GUARDED_BY(mu_);
  Machine::Connection next_name_ ABSL_GUARDED_BY(mu_) = 1;
  bool saving_ ABSL_GUARDED_BY(mu_) = false;
  runtime::DiskWatch disk_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  runtime::Clock::time_point failed_at_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_PARAMETER_HUB_H
