// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter server: the machine of core/server.h with values and threads. What
// arrives is added up on the threads that bring it, block by block; the updates run
// one after the other on an Executor, which one thread of the server keeps busy.
#ifndef COMMSCHED_RUNTIME_SERVERS_PARAMETER_SERVER_IMPL_H
#define COMMSCHED_RUNTIME_SERVERS_PARAMETER_SERVER_IMPL_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/memory.h"
#include "runtime/base/stall_clock.h"
#include "runtime/base/sync.h"
#include "runtime/core/server.h"
#include "runtime/execute/executor.h"
#include "runtime/program/rows_message.h"
#include "runtime/servers/parameter_server.h"

namespace commsched::runtime {

class ParameterServerImpl : public ParameterServer {
 public:
  ParameterServerImpl(std::shared_ptr<const PlanImage> image,
                      ParameterServerOptions options);
  absl::Status Start();
  ~ParameterServerImpl() override;

  absl::Status SetWhole(const std::string &name,
                        absl::Span<const std::byte> whole) override;
  absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value) override;
  absl::StatusOr<uint64_t> Join(int trainer) override;
  Taken taken(int trainer) override;
  void Push(int trainer, uint32_t block, uint64_t step, SharedBytes payload,
            PushDone done) override;
  void Pull(int trainer, uint32_t block, uint64_t version,
            PullDone done) override;
  void PullRows(int trainer, uint32_t block, uint64_t version,
                std::vector<int64_t> ids, PullDone done) override;
  absl::Status Finish(int trainer, uint64_t steps) override;
  void Lost(int trainer, const absl::Status &why) override;
  void Cancel(const absl::Status &why) override;
  absl::Status Wait() override;
  absl::Status Save(const std::string &path, bool wait) override;
  uint64_t cut() override;
  absl::Status Restore(const std::string &path, bool whole_job) override;

 private:
  using Machine = core::Server;

  struct PendingPull {
    PullDone done;
    // Of a block of rows: which; of Pull all.
    bool all = true;
    std::vector<int64_t> ids = {};
  };
  // The values of a block. Of rows they lie in the executor's slots, where they are
  // read by the machine's readers, or updated while it runs.
  struct Block {
    const BlockProgram *program = nullptr;
    std::shared_ptr<Memory> sum;  // synchronous: the combination
    bool scaled = false;          // it is a mean already
    SharedBytes sole;             // in its place: the message of the only trainer
    std::vector<std::shared_ptr<Memory>> spare;
    SharedBytes current, previous;
    std::vector<SharedBytes> row_parts;  // what is in the combination, in order
    std::vector<Memory> chunk;           // batch arguments of the function of rows
  };

  bool OfRows(const Machine::Work &work) const {
    return work.block >= 0 &&
           server_->blocks[size_t(work.block)].of_rows();
  }
  bool sync() const { return servers_->mode == ServersProgram::kSync; }
  std::string Where(const Block &block) const;  // "block "w""
  absl::Status Named(const absl::Status &status) const;
  void Fail(const absl::Status &why) ABSL_LOCKS_EXCLUDED(mu_);
  void FailUnlocked(const absl::Status &why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // parameter_server.cc
  absl::Status Check(int trainer, uint32_t block) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Keeps the pull, or says what it is answered with.
  absl::StatusOr<Machine::Pulled> Ask(int trainer, uint32_t block, uint64_t version,
                                      PendingPull *pull) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PendingPull TakePull(uint64_t name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns when `condition` is true or the server has failed; false if `deadline` comes first.
  bool Await(absl::FunctionRef<bool()> condition,
             Clock::time_point deadline = Clock::time_point::max())
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return waiters_.Await(&mu_, [&] { return !status_.ok() || condition(); }, deadline);
  }

  // parameter_server_updates.cc
  // Adds what has arrived. Gives up the lock at times.
  void Combine(uint32_t block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Add(Block *block, const Machine::Addition &addition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Close(uint32_t block, int parts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::shared_ptr<Memory>> Buffer(Block *block)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeExecutor();
  void Run();
  void Begin(Machine::Work *work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Align(Machine::Work *work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Complete() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives up the lock.
  void AnswerAll(std::vector<Machine::Answer> answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Rest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // of it: until it is woken, or to look again

  // parameter_server_rows.cc
  absl::Status PrepareRows(Block *block);
  // The combination of what is in row_parts. Gives up the lock for a while, as do
  // the following ones.
  SharedBytes MergeParts(Block *block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs the update that has begun first.
  absl::Status UpdateRows(const Machine::Work &work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status UpdateChunk(const Block &block, const RowsView &rows, size_t begin,
                           size_t count) ABSL_LOCKS_EXCLUDED(mu_);
  void AnswerRows(uint32_t block, PendingPull pull) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Reading() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Copies of the slots that blocks of rows change, by slot.
  using Tables = std::map<uint32_t, SharedBytes>;
  Tables CopyTables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // -1: none.
  int BlockOfRows(uint32_t slot) const;

  // parameter_server_files.cc
  struct Snapshot;
  // Until all blocks are at one step and nothing moves.
  absl::Status Pause(bool wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeSnapshot(Tables tables, Snapshot *snapshot)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Apply(const Snapshot &snapshot, bool whole_job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadSlot(uint32_t slot, absl::Span<std::byte> value);
  // What is pulled of a block: its slot's value, or a copy of those of several. No update of
  // the block runs meanwhile.
  absl::StatusOr<SharedBytes> ShareValue(const BlockProgram &block);
  absl::Status ShareCurrent(uint32_t block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const PlanImage> image_;
  const ParameterServerOptions options_;
  std::shared_ptr<const Program> program_;
  const ServersProgram *servers_ = nullptr;
  const ServerProgram *server_ = nullptr;
  std::unique_ptr<Executor> executor_;

  Mutex mu_;
  CondVar work_;                          // for the server's thread
  Waiters waiters_ ABSL_GUARDED_BY(mu_);  // callers
  // The server's thread waits; whether it would notice that nothing comes.
  bool sleeps_ ABSL_GUARDED_BY(mu_) = false;
  bool watches_ ABSL_GUARDED_BY(mu_) = false;
  // What became of the executor, which the server's thread makes; whether the rest is there too.
  std::optional<absl::Status> made_ ABSL_GUARDED_BY(mu_);
  bool begins_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // the server's thread begins no update
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Machine> machine_ ABSL_PT_GUARDED_BY(mu_);
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, PendingPull> pulls_ ABSL_GUARDED_BY(mu_);  // by name
  uint64_t next_pull_ ABSL_GUARDED_BY(mu_) = 0;
  StallClock stall_ ABSL_GUARDED_BY(mu_);
  uint64_t progress_ ABSL_GUARDED_BY(mu_) = 0;  // that the clock knows of
  std::thread thread_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SERVERS_PARAMETER_SERVER_IMPL_H
