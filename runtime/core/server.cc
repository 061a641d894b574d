// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

// Updates at a time: whoever runs them has the next one when one ends.
constexpr size_t kMaxRunning = 2;

}  // namespace

Server::Server(ServersProgram::Mode mode, const ServerProgram *program,
               const Options &options)
    : mode_(mode), program_(program), options_(options) {
  const size_t n = size_t(options_.trainers);
  trainers_.resize(n);
  blocks_.resize(program_->blocks.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    Block &block = blocks_[b];
    block.program = &program_->blocks[b];
    block.taken.assign(n, 0);
    block.applied.assign(n, 0);
    block.arrived.resize(n);
  }
  cut_ = Behind(0);
}

std::string Server::Where(const Block &block) {
  return absl::StrCat("block \"", block.program->key, "\"");
}

// --- Trainers -----------------------------------------------------------------

absl::Status Server::Check(int trainer, uint32_t block) const {
  if (!IsTrainer(trainer))
    return absl::FailedPreconditionError(absl::StrCat(
        "trainer must be in 0..", trainers_.size() - 1, ", got: ", trainer));
  if (!trainers_[size_t(trainer)].joined)
    return absl::FailedPreconditionError(
        absl::StrCat("trainer ", trainer, " has not joined"));
  if (block >= blocks_.size())
    return absl::InvalidArgumentError(absl::StrCat("there is no block ", block));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Server::Join(int trainer) {
  if (!IsTrainer(trainer))
    return absl::FailedPreconditionError(absl::StrCat(
        "trainer must be in 0..", trainers_.size() - 1, ", got: ", trainer));
  trainers_[size_t(trainer)].joined = true;
  ++progress_;
  uint64_t steps = kNever;
  for (const Block &block : blocks_)
    steps = std::min(steps, sync() ? block.combining : block.taken[size_t(trainer)]);
  return blocks_.empty() ? 0 : steps;
}

std::vector<uint64_t> Server::taken(int trainer) const {
  std::vector<uint64_t> next;
  for (const Block &block : blocks_) next.push_back(block.taken[size_t(trainer)]);
  return next;
}

absl::Status Server::Push(int trainer, uint32_t block, uint64_t step, SharedBytes payload) {
  Block &b = blocks_[block];
  const size_t t = size_t(trainer);
  if (step < b.taken[t]) return absl::OkStatus();
  auto error = [&](const std::string &what) {
    return absl::InvalidArgumentError(absl::StrCat(
        Where(b), ": push of trainer ", trainer, " in step ", step, ": ", what));
  };
  if (!Expected(trainer, step)) return error("the trainer has finished");
  const bool merged = mode_ == ServersProgram::kHalfAsync;
  if (step != b.taken[t] && !merged)
    return error(absl::StrCat("the next step must be ", b.taken[t]));
  const uint64_t ahead = merged ? 0 : step - (sync() ? b.updates : b.applied[t]);
  if (ahead >= options_.max_ahead) return error(absl::StrCat("is ", ahead, " steps ahead"));
  b.taken[t] = step + 1;
  ++progress_;
  if (sync())
    b.arrived[t].push_back({step, std::move(payload)});
  else
    ready_.push_back({int(block), step, trainer, std::move(payload)});
  return absl::OkStatus();
}

absl::Status Server::Finish(int trainer, uint64_t steps) {
  if (!IsTrainer(trainer) || !joined(trainer))
    return absl::FailedPreconditionError(
        absl::StrCat("trainer ", trainer, " has not joined"));
  Trainer &t = trainers_[size_t(trainer)];
  if (t.finish == steps) return absl::OkStatus();
  auto error = [&](const std::string &what) {
    return absl::FailedPreconditionError(absl::StrCat(
        "trainer ", trainer, " finishes after ", steps, " steps: ", what));
  };
  if (t.finish != kNever)
    return error(absl::StrCat("it has finished after ", t.finish, " already"));
  for (const Block &block : blocks_) {
    const uint64_t pushed = block.taken[size_t(trainer)];
    if (pushed > steps || (sync() && pushed < steps))
      return error(
          absl::StrCat("it has pushed ", Where(block), " of ", pushed, " steps"));
  }
  t.finish = steps;
  ++finishes_;
  ++progress_;
  return absl::OkStatus();
}

bool Server::AllFinished() const {
  return std::all_of(trainers_.begin(), trainers_.end(),
                     [](const Trainer &t) { return t.finish != kNever; });
}

bool Server::Finished() const {
  if (!ready_.empty() || !running_.empty() || !AllFinished()) return false;
  uint64_t steps = 0;
  for (const Trainer &trainer : trainers_) steps = std::max(steps, trainer.finish);
  for (const Block &block : blocks_)
    if (block.adding || (sync() && block.updates < steps)) return false;
  return true;
}

// --- Additions ----------------------------------------------------------------

bool Server::NextAddition(uint32_t index, Addition *addition) {
  Block &b = blocks_[index];
  const int n = int(trainers_.size());
  if (!sync() || b.adding || b.combining >= Hold()) return false;
  while (b.added < n && !Expected(b.added, b.combining)) ++b.added;
  *addition = {};
  if (b.added == n) {
    if (b.parts == 0) return false;  // nobody has any batches left
    addition->close = true;
    addition->parts = b.parts;
  } else {
    std::deque<Arrived> &queue = b.arrived[size_t(b.added)];
    if (queue.empty()) return false;
    addition->payload = std::move(queue.front().payload);
    queue.pop_front();
    addition->last = true;
    for (int r = b.added + 1; r < n; ++r) addition->last &= !Expected(r, b.combining);
    ++b.added;
    addition->parts = ++b.parts;
  }
  b.adding = true;
  return true;
}

void Server::Closed(uint32_t index, SharedBytes gradient, std::shared_ptr<void> buffer) {
  Block &b = blocks_[index];
  ready_.push_back({int(index), b.combining++, -1, std::move(gradient), std::move(buffer)});
  b.added = b.parts = 0;
  b.adding = false;
}

// --- Updates ------------------------------------------------------------------

// Whether the schedule has to run before this update.
bool Server::NeedsSchedule(const Work &work) const {
  if (!program_->has_schedule) return false;
  if (program_->blocks[size_t(work.block)].apart) return false;
  if (sync()) return schedules_ <= work.step;
  uint64_t wanted = 1;
  if (work.block == 0) wanted += blocks_[0].updates / uint64_t(trainers_.size());
  return schedules_ < wanted;
}

// Whether the other blocks that are updated together are ready for this step.
bool Server::IsWhole(const Work &work) const {
  for (uint32_t block : program_->blocks[size_t(work.block)].together)
    if (int(block) != work.block &&
        std::none_of(ready_.begin(), ready_.end(), [&](const Work &other) {
          return other.block == int(block) && other.step == work.step;
        }))
      return false;
  return true;
}

bool Server::Busy() const {
  return !running_.empty() ||
         std::any_of(ready_.begin(), ready_.end(),
                     [this](const Work &work) { return IsWhole(work); });
}

Server::Work Server::TakeWhole(std::deque<Work>::iterator first) {
  Work work = std::move(*first);
  ready_.erase(first);
  for (uint32_t block : program_->blocks[size_t(work.block)].together) {
    if (int(block) == work.block) continue;
    auto other = std::find_if(ready_.begin(), ready_.end(), [&](const Work &w) {
      return w.block == int(block) && w.step == work.step;
    });
    work.others.push_back(std::move(*other));
    ready_.erase(other);
  }
  return work;
}

bool Server::Choose(Work *work) {
  if (running_.size() >= kMaxRunning) return false;
  // An update of rows is run in parts when it is the oldest: what is behind it
  // would wait there.
  if (!running_.empty() && OfRows(running_.back())) return false;
  std::vector<bool> passed(blocks_.size(), false);
  for (auto it = ready_.begin(); it != ready_.end(); ++it) {
    const size_t b = size_t(it->block);
    // Updates of one block keep their order.
    if (passed[b] || blocks_[b].running || !IsWhole(*it)) {
      passed[b] = true;
      continue;
    }
    // Of other trainers, what is before the cut may be behind this.
    if (it->step >= Hold()) {
      passed[b] = sync();
      continue;
    }
    if (!NeedsSchedule(*it)) {
      *work = TakeWhole(it);
      return true;
    }
    // What the schedule has made for a step is in use until all blocks are
    // through with it.
    bool through = true;
    for (const Block &block : blocks_)
      through &= block.program->apart ||
                 (!block.running && (!sync() || block.updates >= it->step));
    if (through) {
      *work = Work();
      work->step = it->step;
      return true;
    }
    passed[b] = true;
  }
  return false;
}

Server::Work *Server::Next() {
  Work work;
  if (!Choose(&work)) return nullptr;
  if (work.block < 0) {
    ++schedules_;
  } else {
    for (uint32_t b : program_->blocks[size_t(work.block)].together) {
      blocks_[b].running = true;
      // All trainers have pushed after they had the value before.
      blocks_[b].has_before = false;
    }
  }
  running_.push_back(std::move(work));
  return &running_.back();
}

Server::Work Server::Complete(std::vector<Answer> *answers) {
  Work work = std::move(running_.front());
  running_.pop_front();
  ++progress_;
  if (work.block < 0) return work;
  for (const Work &other : work.others) CompleteBlock(other, answers);
  CompleteBlock(work, answers);
  return work;
}

void Server::CompleteBlock(const Work &work, std::vector<Answer> *answers) {
  Block &block = blocks_[size_t(work.block)];
  const bool of_rows = block.program->of_rows();
  block.running = false;
  ++block.updates;
  if (work.trainer >= 0) block.applied[size_t(work.trainer)] = work.step + 1;
  block.has_before = sync() && !of_rows;
  std::vector<PendingPull> waiting;
  for (const PendingPull &pull : block.pulls) {
    if (!HasVersion(block, pull.trainer, pull.version)) {
      waiting.push_back(pull);
      continue;
    }
    // A block has no older version of its rows.
    const bool gone = of_rows && sync() && pull.version != block.updates;
    answers->push_back({pull.pull, uint32_t(work.block),
                        gone ? Gone(block, pull.version) : absl::OkStatus()});
    --pulls_;
  }
  block.pulls = std::move(waiting);
}

// --- Values -------------------------------------------------------------------

bool Server::HasVersion(const Block &block, int trainer, uint64_t version) const {
  return version <= (sync() ? block.updates : block.applied[size_t(trainer)]);
}

absl::Status Server::Gone(const Block &block, uint64_t version) const {
  return absl::OutOfRangeError(absl::StrCat(Where(block), ": version ", version,
                                            " is no longer there, only ", block.updates));
}

absl::StatusOr<Server::Pulled> Server::Pull(int trainer, uint32_t block, uint64_t version,
                                            uint64_t pull) {
  Block &b = blocks_[block];
  if (!HasVersion(b, trainer, version) || (b.program->of_rows() && b.running)) {
    if (pulls_++ == 0) ++progress_;
    b.pulls.push_back({trainer, version, pull});
    return Pulled::kWaits;
  }
  if (!sync() || version == b.updates) return Pulled::kNewest;
  if (version + 1 == b.updates && b.has_before) return Pulled::kBefore;
  return Gone(b, version);
}

void Server::TakeFinal(std::vector<Answer> *answers) {
  if (pulls_ == 0 || !Finished()) return;
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    std::vector<PendingPull> waiting;
    for (const PendingPull &pull : blocks_[b].pulls) {
      if (pull.version != kFinal) {
        waiting.push_back(pull);
        continue;
      }
      --pulls_;
      answers->push_back({pull.pull, b, absl::OkStatus()});
    }
    blocks_[b].pulls = std::move(waiting);
  }
}

// --- Waiting ------------------------------------------------------------------

// Which block waits, and for whom.
std::string Server::Missing() const {
  // The others wait at the cut.
  const bool held = std::any_of(ready_.begin(), ready_.end(), [this](const Work &work) {
    return work.step >= cut_;
  });
  const Block *late = nullptr;
  std::vector<int> missing;
  for (const Block &block : blocks_) {
    std::vector<int> of_block;
    for (int r = 0; r < int(trainers_.size()); ++r) {
      bool wanted = false;
      if (sync())
        wanted = r >= block.added && Expected(r, block.combining) &&
                 block.arrived[size_t(r)].empty();
      else if (held)
        wanted = IsBeforeCut(block, size_t(r));
      else
        for (const PendingPull &pull : block.pulls) wanted |= pull.trainer == r;
      if (wanted) of_block.push_back(r);
    }
    if (of_block.empty()) continue;
    // Of blocks that are updated together, the one that is not complete.
    auto steps = [this](const Block &b) { return sync() ? b.combining : b.updates; };
    if (late != nullptr && (steps(*late) < steps(block) ||
                            (steps(*late) == steps(block) &&
                             (!late->pulls.empty() || block.pulls.empty()))))
      continue;
    late = &block;
    missing = std::move(of_block);
  }
  if (late == nullptr) return "an update does not end";
  std::string names;
  for (int r : missing)
    absl::StrAppend(&names, names.empty() ? "" : ", ", r,
                    joined(r) ? "" : " (which never joined)");
  return absl::StrCat(Where(*late),
                      sync() ? absl::StrCat(" in step ", late->combining) : std::string(),
                      " still waits for the push of trainer", missing.size() > 1 ? "s " : " ",
                      names);
}

std::vector<uint64_t> Server::Clear() {
  std::vector<uint64_t> pulls;
  for (Block &block : blocks_) {
    for (const PendingPull &pull : block.pulls) pulls.push_back(pull.pull);
    block.pulls.clear();
  }
  pulls_ = 0;
  return pulls;
}

bool Server::Idle() const {
  if (!ready_.empty() || !running_.empty()) return false;
  for (const Block &block : blocks_) {
    if (block.adding || block.parts != 0) return false;
    for (const auto &queue : block.arrived)
      if (!queue.empty()) return false;
  }
  return true;
}

}  // namespace commsched::runtime::core
