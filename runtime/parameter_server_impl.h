// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter server. What arrives is added up on the threads that bring it,
// block by block; the updates run one after the other on an Executor, which one
// thread of the server keeps busy.
#ifndef COMMSCHED_RUNTIME_PARAMETER_SERVER_IMPL_H
#define COMMSCHED_RUNTIME_PARAMETER_SERVER_IMPL_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/executor.h"
#include "runtime/memory.h"
#include "runtime/parameter_server.h"
#include "runtime/rows_message.h"
#include "runtime/stall_clock.h"
#include "runtime/sync.h"

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
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  struct Trainer {
    bool joined = false;
    uint64_t finish = kNever;  // steps after which it has run out of batches
  };
  struct Arrived {
    uint64_t step = 0;
    SharedBytes payload;
  };
  struct PendingPull {
    int trainer = 0;
    uint64_t version = 0;
    PullDone done;
    // Of a block of rows: which; of Pull all.
    bool all = true;
    std::vector<int64_t> ids = {};
  };
  // An update that has all that it needs, or the schedule.
  struct Work {
    int block = -1;      // -1: the schedule
    uint64_t step = 0;
    int trainer = -1;    // whose gradient; synchronous: of all
    SharedBytes gradient;
    std::shared_ptr<Memory> memory;  // of the server, in which it lies
    uint64_t call = 0;   // of the executor
    std::vector<Work> others;  // of the blocks that are updated with this one
  };
  struct Block {
    const BlockProgram *program = nullptr;
    std::vector<uint64_t> taken;    // by trainer: the step that it pushes next
    std::vector<uint64_t> applied;  // the same of updates; not synchronous
    uint64_t updates = 0;  // that have run; synchronous: the version of `current`
    bool running = false;
    // Synchronous: the combination for step `combining`.
    uint64_t combining = 0;
    int added = 0;  // trainers before this one are in it
    int parts = 0;  // so many
    bool scaled = false;
    bool adding = false;  // a thread works on it without the lock
    std::shared_ptr<Memory> sum;
    std::vector<std::deque<Arrived>> arrived;  // by trainer
    std::vector<std::shared_ptr<Memory>> spare;
    SharedBytes current, previous;  // values; of rows: none
    std::vector<PendingPull> pulls;
    // Of rows. They are read by `readers` threads, or updated while `running`.
    std::vector<SharedBytes> row_parts;  // what is in the combination, in order
    std::vector<Memory> chunk;           // batch arguments of the function
    int readers = 0;
  };

  bool OfRows(const Work &work) const {
    return work.block >= 0 &&
           server_->blocks[size_t(work.block)].of_rows();
  }
  bool sync() const { return servers_->mode == ServersProgram::kSync; }
  // Whether the trainer takes part in the step.
  bool Expected(int trainer, uint64_t step) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return trainers_[size_t(trainer)].finish > step;
  }
  std::string Where(const Block &block) const;  // "server 0: block "w""
  absl::Status Named(const absl::Status &status) const;
  void Fail(const absl::Status &why) ABSL_LOCKS_EXCLUDED(mu_);

  // parameter_server.cc
  absl::Status Check(int trainer, uint32_t block) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Take(int trainer, uint32_t block, uint64_t step,
                    SharedBytes *payload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasVersion(const Block &block, int trainer, uint64_t version) const;
  // A pull of a block of which the version is there.
  absl::StatusOr<SharedBytes> Value(const Block &block, uint64_t version) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Finished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // parameter_server_updates.cc
  // Adds what has arrived, in the order of the ranks. Gives up the lock at times.
  void Combine(uint32_t block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Add(Block *block, const Arrived &arrived, bool last)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::shared_ptr<Memory>> Buffer(Block *block)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run();
  bool Next(Work *work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsWhole(const Work &work) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // An update runs, or can.
  bool Busy() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Work TakeWhole(std::deque<Work>::iterator first)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NeedsSchedule(const Work &work) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Begin(Work work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Complete() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of one block. Moves the pulls that can be answered now.
  void CompleteBlock(Work work, SharedBytes value,
                     std::vector<std::pair<PullDone, SharedBytes>> *answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Pulls of what the values are in the end, once they are that. True: it has given
  // up the lock.
  bool AnswerFinal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string Missing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // parameter_server_rows.cc
  absl::Status PrepareRows(Block *block);
  // The combination of what is in row_parts. Gives up the lock for a while, as do
  // the following ones.
  SharedBytes MergeParts(Block *block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs the update that has begun first.
  void CompleteRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status UpdateRows(Block *block, const Work &work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status UpdateChunk(const Block &block, const RowsView &rows, size_t begin,
                           size_t count) ABSL_LOCKS_EXCLUDED(mu_);
  void AnswerRows(Block *block, PendingPull pull)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Reading() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Copies of the slots that blocks of rows change, by slot.
  using Tables = std::map<uint32_t, SharedBytes>;
  Tables CopyTables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Block *BlockOfRows(uint32_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // parameter_server_cuts.cc
  absl::Status Pause(bool wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<uint64_t> PassCut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ForgetBehindCut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AllFinished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Everything before the cut is applied, and nothing of what is behind it.
  bool AtCut() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whose steps before the cut are not all there; asynchronous modes.
  bool IsBeforeCut(const Block &block, size_t trainer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t Behind(uint64_t step) const;  // the first cut behind it
  // No update of this step or a later one begins.
  uint64_t Hold() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return saving_ ? std::min(hold_, cut_) : cut_;
  }

  // parameter_server_files.cc
  struct Snapshot;
  absl::Status TakeSnapshot(Tables tables, Snapshot *snapshot)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Apply(const Snapshot &snapshot, bool whole_job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadSlot(uint32_t slot, absl::Span<std::byte> value);
  absl::Status ShareCurrent(Block *block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const PlanImage> image_;
  const ParameterServerOptions options_;
  std::shared_ptr<const Program> program_;
  const ServersProgram *servers_ = nullptr;
  const ServerProgram *server_ = nullptr;
  std::unique_ptr<Executor> executor_;

  Mutex mu_;
  CondVar work_;     // for the server's thread
  CondVar changed_;  // for callers
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // the server's thread begins no update
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<Trainer> trainers_ ABSL_GUARDED_BY(mu_);
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mu_);
  std::deque<Work> ready_ ABSL_GUARDED_BY(mu_);
  std::deque<Work> running_ ABSL_GUARDED_BY(mu_);
  uint64_t schedules_ ABSL_GUARDED_BY(mu_) = 0;  // that have begun
  // While a snapshot is wanted no update of a step from `hold_` on begins.
  bool saving_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t hold_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t cut_ ABSL_GUARDED_BY(mu_) = kNever;
  size_t finishes_ ABSL_GUARDED_BY(mu_) = 0;  // that no checkpoint has yet
  size_t pulls_ ABSL_GUARDED_BY(mu_) = 0;  // that wait
  StallClock stall_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PARAMETER_SERVER_IMPL_H
