// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trainers of one parameter server, as its service knows them: who is
// there, what of theirs has been taken and what is safe, and who is told what.
//
// Threading: all methods may be called from any thread.
#ifndef COMMSCHED_GRPC_PARAMETER_HUB_H
#define COMMSCHED_GRPC_PARAMETER_HUB_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "grpc/admission.h"
#include "grpc/buffer_pool.h"
#include "grpc/parameter_service.h"
#include "grpc/parameter_service.pb.h"
#include "runtime/parameter_server.h"
#include "runtime/sync.h"

namespace commsched::transport {

class ParameterConnection;

// Shared by its connections and by what the server still has to answer.
class ParameterHub : public std::enable_shared_from_this<ParameterHub> {
 public:
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
            uint32_t block, uint64_t version);
  // `asked` says which rows, and is repeated in the answer.
  void PullRows(int trainer, std::weak_ptr<ParameterConnection> connection,
                parameter::Data asked, std::vector<int64_t> ids);
  void Finish(int trainer, uint64_t steps);
  // It says so, breaks the protocol, or leaves: for good.
  void Lost(int trainer, const absl::Status &why);
  void Goodbye(int trainer);
  // The connection is closed. `trainer` is -1 if nobody had joined through it.
  void Closed(ParameterConnection *connection, int trainer);
  void Accepted(const std::shared_ptr<ParameterConnection> &connection);
  void RefusedStranger(absl::string_view peer, absl::string_view why) {
    gate_.Log(peer, why);
  }

  Gate &gate() { return gate_; }

  // For the threads of the service.
  // Trainers that are late are reported to the server.
  void CheckTimes();
  // Saves whenever that is due, until Shutdown.
  void SaveLoop();
  // The server has ended: everybody is told.
  void Ended(const absl::Status &status);
  // Waits until everybody has gone, or has been told why the server has ended.
  absl::Status WaitUntilOver();
  // Drops all connections and waits until they are closed.
  void Shutdown();

  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }
  uint64_t checkpoints() const { return checkpoints_; }

 private:
  struct Trainer {
    std::shared_ptr<ParameterConnection> connection;
    uint64_t session = 0;
    bool joined = false;
    bool finished = false;
    bool gone = false;         // in good order
    bool told = false;         // of the end
    bool wants_answer = false; // to Finish
    int under_way = 0;         // pushes given to the server, not taken yet
    runtime::Clock::time_point away_since;  // joined, without a connection
    std::vector<uint64_t> next;             // by block, of what is taken
  };

  // What a trainer sends makes no sense to the server.
  void Refused(int trainer, const absl::Status &why);
  int32_t PriorityOf(uint32_t block) const {
    const auto &priorities = options_.block_priorities;
    return block < priorities.size() ? priorities[block] : 0;
  }
  bool keeps_checkpoints() const { return options_.checkpoint_steps > 0; }
  void Taken(int trainer, uint32_t block, uint64_t step,
             const absl::Status &status);
  void AnswerFinish(Trainer &trainer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WantSave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A trainer has pushed all blocks of all steps before the cut.
  bool IsCutReached(const Trainer &trainer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A trainer that comes when the job has failed already.
  void Tell(int rank, const std::shared_ptr<ParameterConnection> &connection)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends what has been put into the queues of connections.
  void FlushAll();

  runtime::ParameterServer *const server_;
  const ParameterServiceOptions options_;
  const runtime::Clock::time_point start_ = runtime::Clock::now();
  Gate gate_;
  BufferPool pool_;
  std::atomic<uint64_t> bytes_sent_{0}, bytes_received_{0}, checkpoints_{0};

  runtime::Mutex mu_;
  runtime::CondVar changed_;
  std::vector<Trainer> trainers_ ABSL_GUARDED_BY(mu_);
  std::optional<uint64_t> run_digest_ ABSL_GUARDED_BY(mu_);  // of who joined first
  // Connections that are not closed, and when they came.
  struct Open {
    std::shared_ptr<ParameterConnection> connection;
    runtime::Clock::time_point since;
    bool joined = false;
  };
  std::vector<Open> open_ ABSL_GUARDED_BY(mu_);
  bool save_wanted_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t cut_ ABSL_GUARDED_BY(mu_) = 0;  // of the server's next checkpoint
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_PARAMETER_HUB_H
