// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One parameter server: which messages of the trainers are combined when, which
// update runs next, which pulls are answered, and where checkpoints are cut.
//
// Synchronous: the update of a block for step s runs when every trainer that has not
// finished before s has pushed it; the messages are added in the order of the ranks.
// Else the update runs for every push, in the order of arrival. Updates of one block
// keep their order. The schedule, a function without messages, runs before the first
// update of a step, when all blocks are through with the step before.
//
// A driver tells it what has come and what has ended, and does what it says. Values
// are the driver's: it adds what NextAddition gives, runs what Next gives, and answers
// pulls with the newest value of the block or the one before. Additions of different
// blocks may be done at the same time, without a lock, and so may updates.
//
// Errors name blocks and trainers; the server's name is the driver's.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_SERVER_H
#define COMMSCHED_RUNTIME_CORE_SERVER_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/shared_bytes.h"
#include "runtime/program/server_program.h"

namespace commsched::runtime::core {

class Server {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  // Of Pull: the value when all have finished and all that they sent is applied.
  static constexpr uint64_t kFinal = kNever;

  struct Options {
    int trainers = 1;
    uint64_t max_ahead = 16;  // steps that a trainer may be ahead of an update
    // No update of step n * cut_every or later begins before all steps before are
    // applied and PassCut has been called. 0: nowhere.
    uint64_t cut_every = 0;
  };
  // `program` outlives it.
  Server(ServersProgram::Mode mode, const ServerProgram *program, const Options &options);

  // --- Trainers
  // Returns the steps of which the server has all that it needs.
  absl::StatusOr<uint64_t> Join(int trainer);
  bool joined(int trainer) const { return trainers_[size_t(trainer)].joined; }
  bool finished(int trainer) const { return trainers_[size_t(trainer)].finish != kNever; }
  bool IsTrainer(int trainer) const {
    return trainer >= 0 && size_t(trainer) < trainers_.size();
  }
  // It has joined, and there is such a block.
  absl::Status Check(int trainer, uint32_t block) const;
  // By block: one more than the last step that was pushed, 0 if none.
  std::vector<uint64_t> taken(int trainer) const;
  // What was pushed before is dropped. After it, and after Finish, there may be
  // additions.
  absl::Status Push(int trainer, uint32_t block, uint64_t step, SharedBytes payload);
  absl::Status Finish(int trainer, uint64_t steps);
  // Whether all have, and what they sent is applied.
  bool Finished() const;
  bool AllFinished() const;

  // --- Additions
  struct Addition {
    bool close = false;   // all messages are in: it is complete
    SharedBytes payload;  // else: what is added
    int parts = 0;        // so many are in it then
    bool last = false;    // no other one follows
  };
  // What is next for the block, if anything: until Added or Closed there is no more.
  bool NextAddition(uint32_t block, Addition *addition);
  void Added(uint32_t block) { blocks_[block].adding = false; }
  // The combination is now the gradient of an update. `buffer` is the driver's.
  void Closed(uint32_t block, SharedBytes gradient, std::shared_ptr<void> buffer = nullptr);

  // --- Updates
  struct Work {
    int block = -1;  // -1: the schedule
    uint64_t step = 0;
    int trainer = -1;  // whose gradient; synchronous: of all
    SharedBytes gradient;
    std::shared_ptr<void> buffer = nullptr;  // the driver's
    uint64_t call = 0;                       // likewise
    std::vector<Work> others = {};           // of the blocks that are updated with this one
  };
  // An update that begins now, behind those that run; null if there is none. Valid
  // until it is complete. The blocks' values before the newest one are gone.
  Work *Next();
  // What the oldest one that runs is; null if none does.
  Work *running() { return running_.empty() ? nullptr : &running_.front(); }
  // It has ended: takes it. Pulls that can be answered now are appended.
  struct Answer {
    uint64_t pull = 0;
    uint32_t block = 0;
    absl::Status status;  // else the newest value
  };
  Work Complete(std::vector<Answer> *answers);
  // An update runs, or can.
  bool Busy() const;
  // So, or pulls of the final values can be answered: the driver has something to do.
  bool HasWork() const { return Busy() || (pulls_ != 0 && Finished()); }

  // --- Values
  enum class Pulled {
    kWaits,
    kNewest,
    kBefore
  };
  // `pull` is the driver's name for it.
  absl::StatusOr<Pulled> Pull(int trainer, uint32_t block, uint64_t version, uint64_t pull);
  // Pulls of the final values, once they are that.
  void TakeFinal(std::vector<Answer> *answers);
  // Of a block of rows, whose newest value an update would change: it waits until
  // readers() is 0, and no reader begins while it runs.
  void BeginRead(uint32_t block) { ++blocks_[block].readers; }
  void EndRead(uint32_t block) { --blocks_[block].readers; }
  int readers(uint32_t block) const { return blocks_[block].readers; }
  // The newest value has been set from outside.
  void ForgetBefore(uint32_t block) { blocks_[block].has_before = false; }

  // --- Waiting
  // Somebody waits for an answer. Then what has come or ended since is progress.
  bool waiting() const { return pulls_ != 0; }
  uint64_t progress() const { return progress_; }  // counts it
  std::string Missing() const;                     // for whom they wait
  // Drops the pulls that wait, and says which.
  std::vector<uint64_t> Clear();
  // Nothing has come of a step that is not applied.
  bool Idle() const;

  // --- Cuts and snapshots
  uint64_t cut() const { return cut_; }
  // Everything before the cut is applied, and nothing of what is behind it.
  bool AtCut() const;
  // Whether a snapshot that is wanted may be taken: at the cut, or now, if it does not
  // `wait` for that; if a trainer finishes, which the cut would wait for, at once, and at
  // the end when all is applied.
  bool MayPause(bool wait) const {
    if (AtCut()) return true;
    return AllFinished() ? Finished() : !wait || finishes_ != 0;
  }
  // From now on nothing begins that would make blocks differ in their steps. Still:
  // nothing moves; what may be taken now is a snapshot.
  void Pause();
  bool Still() const;
  bool paused() const { return paused_; }
  void Resume() { paused_ = false; }
  // A snapshot is taken: the step of the job that it is of, if it is at the cut or
  // at the end. The cut is then behind it.
  std::optional<uint64_t> PassCut();
  // Another one is wanted behind it: from one cut to the next, as all have finished.
  bool WantsAnother() const { return AllFinished() && !Finished(); }

  struct Arrived {
    uint64_t step = 0;
    SharedBytes payload;
  };
  struct BlockState {
    uint64_t updates = 0;                  // that have run; synchronous: the newest version
    uint64_t combining = 0;                // synchronous: the combination for this step
    int added = 0;                         // trainers before this one are in it
    int parts = 0;                         // so many
    std::vector<uint64_t> taken, applied;  // by trainer: the step that is next
    std::vector<std::deque<Arrived>> arrived;
  };
  struct State {
    uint64_t schedules = 0;  // that have begun
    uint64_t cut = kNever;
    std::vector<uint64_t> finish;  // by trainer
    std::deque<Work> ready;
    std::vector<BlockState> blocks;
  };
  State state() const;
  // Of the `whole_job`, trainers included, only what was before the cut is taken, and
  // no additions are.
  absl::Status SetState(State state, bool whole_job);

 private:
  struct Trainer {
    bool joined = false;
    uint64_t finish = kNever;  // steps after which it has run out of batches
  };
  struct PendingPull {
    int trainer = 0;
    uint64_t version = 0, pull = 0;
  };
  struct Block : BlockState {
    const BlockProgram *program = nullptr;
    bool running = false, adding = false, has_before = false;
    int readers = 0;
    std::vector<PendingPull> pulls;
  };

  bool sync() const { return mode_ == ServersProgram::kSync; }
  bool Expected(int trainer, uint64_t step) const {
    return trainers_[size_t(trainer)].finish > step;
  }
  static std::string Where(const Block &block);  // "block "w""
  bool HasVersion(const Block &block, int trainer, uint64_t version) const;
  absl::Status Gone(const Block &block, uint64_t version) const;
  bool OfRows(const Work &work) const {
    return work.block >= 0 && program_->blocks[size_t(work.block)].of_rows();
  }
  bool IsWhole(const Work &work) const;
  Work TakeWhole(std::deque<Work>::iterator first);
  bool NeedsSchedule(const Work &work) const;
  bool Choose(Work *work);
  void CompleteBlock(const Work &work, std::vector<Answer> *answers);
  bool IsBeforeCut(const Block &block, size_t trainer) const;
  uint64_t Behind(uint64_t step) const;  // the first cut behind it
  uint64_t Hold() const { return paused_ ? std::min(hold_, cut_) : cut_; }
  absl::Status ForgetBehindCut();

  const ServersProgram::Mode mode_;
  const ServerProgram *const program_;
  const Options options_;
  std::vector<Trainer> trainers_;
  std::vector<Block> blocks_;
  std::deque<Work> ready_, running_;
  uint64_t schedules_ = 0;
  bool paused_ = false;
  uint64_t hold_ = 0;  // while paused: no update of this step or a later one begins
  uint64_t cut_ = kNever;
  size_t finishes_ = 0;  // since the last snapshot
  size_t pulls_ = 0;     // that wait
  uint64_t progress_ = 0;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_SERVER_H
