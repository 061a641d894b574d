// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a parameter server combines gradients and runs updates.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/parameter_client.h"
#include "runtime/parameter_server_impl.h"
#include "runtime/status_util.h"

namespace commsched::runtime {
namespace {

// Calls of the executor at a time: it has the next one when one ends.
constexpr size_t kMaxRunning = 2;

}  // namespace

absl::StatusOr<std::shared_ptr<Memory>> ParameterServerImpl::Buffer(
    Block *block) {
  if (!block->spare.empty()) {
    std::shared_ptr<Memory> memory = std::move(block->spare.back());
    block->spare.pop_back();
    return memory;
  }
  absl::StatusOr<Memory> memory =
      Memory::Allocate(block->program->gradient.bytes);
  if (!memory.ok()) return memory.status();
  return std::make_shared<Memory>(*std::move(memory));
}

absl::Status ParameterServerImpl::Add(Block *block, const Arrived &arrived,
                                      bool last) {
  if (block->program->of_rows()) {
    ++block->parts;
    block->row_parts.push_back(arrived.payload);
    return absl::OkStatus();
  }
  const ops::Element element = block->program->gradient.element;
  const size_t unit = ops::ElementBytes(element);
  const size_t bytes = block->program->gradient.bytes;
  if (block->sum == nullptr) {
    absl::StatusOr<std::shared_ptr<Memory>> memory = Buffer(block);
    if (!memory.ok()) return memory.status();
    block->sum = *std::move(memory);
  }
  // Of narrow elements the sum is rounded before it is scaled, whoever finishes
  // when: so not here.
  const bool wide = element == ops::Element::kF32 || element == ops::Element::kF64;
  const int parts = ++block->parts;
  block->scaled = last && wide && block->program->mean && parts > 1;
  const double scale = block->scaled ? 1.0 / parts : 0.0;
  std::byte *sum = block->sum->data();
  mu_.Unlock();
  if (parts == 1) {
    if (bytes != 0) std::memcpy(sum, arrived.payload.bytes.data(), bytes);
  } else {
    ops::CombineElements(element, ops::Combine::kSum, scale, sum,
                         arrived.payload.bytes.data(), bytes / unit);
  }
  mu_.Lock();
  return absl::OkStatus();
}

void ParameterServerImpl::Combine(uint32_t index) {
  Block &b = blocks_[index];
  if (b.adding) return;
  const int n = int(trainers_.size());
  b.adding = true;
  absl::Status failed;
  while (status_.ok() && failed.ok() && b.combining < Hold()) {
    while (b.added < n && !Expected(b.added, b.combining)) ++b.added;
    if (b.added == n) {
      if (b.parts == 0) break;  // nobody has any batches left
      SharedBytes rows;
      if (b.program->of_rows()) {
        rows = MergeParts(&b);
      } else if (b.program->mean && !b.scaled && b.parts > 1) {
        const double scale = 1.0 / b.parts;
        mu_.Unlock();
        ops::ScaleElements(b.program->gradient.element, scale, b.sum->data(),
                           size_t(b.program->gradient.elements));
        mu_.Lock();
      }
      Work work;
      work.block = int(index);
      work.step = b.combining++;
      if (b.program->of_rows()) {
        work.gradient = std::move(rows);
      } else {
        work.gradient.bytes = {b.sum->data(), b.program->gradient.bytes};
        work.memory = std::move(b.sum);
      }
      b.sum = nullptr;
      b.added = b.parts = 0;
      b.scaled = false;
      ready_.push_back(std::move(work));
      work_.Signal();
      continue;
    }
    std::deque<Arrived> &queue = b.arrived[size_t(b.added)];
    if (queue.empty()) break;
    Arrived arrived = std::move(queue.front());
    queue.pop_front();
    bool last = true;
    for (int r = b.added + 1; r < n; ++r) last &= !Expected(r, b.combining);
    failed = Add(&b, arrived, last);
    ++b.added;
  }
  b.adding = false;
  changed_.SignalAll();
  if (failed.ok()) return;
  mu_.Unlock();
  Fail(Named(failed));
  mu_.Lock();
}

// Whether the schedule has to run before this update.
bool ParameterServerImpl::NeedsSchedule(const Work &work) const {
  if (!server_->has_schedule) return false;
  if (server_->blocks[size_t(work.block)].apart) return false;
  if (sync()) return schedules_ <= work.step;
  uint64_t wanted = 1;
  if (work.block == 0)
    wanted += blocks_[0].updates / uint64_t(trainers_.size());
  return schedules_ < wanted;
}

// Whether the other blocks that are updated together are ready for this step.
bool ParameterServerImpl::IsWhole(const Work &work) const {
  for (uint32_t block : server_->blocks[size_t(work.block)].together)
    if (int(block) != work.block &&
        std::none_of(ready_.begin(), ready_.end(), [&](const Work &other) {
          return other.block == int(block) && other.step == work.step;
        }))
      return false;
  return true;
}

bool ParameterServerImpl::Busy() const {
  return !running_.empty() ||
         std::any_of(ready_.begin(), ready_.end(),
                     [this](const Work &work) { return IsWhole(work); });
}

ParameterServerImpl::Work ParameterServerImpl::TakeWhole(
    std::deque<Work>::iterator first) {
  Work work = std::move(*first);
  ready_.erase(first);
  for (uint32_t block : server_->blocks[size_t(work.block)].together) {
    if (int(block) == work.block) continue;
    auto other = std::find_if(ready_.begin(), ready_.end(), [&](const Work &w) {
      return w.block == int(block) && w.step == work.step;
    });
    work.others.push_back(std::move(*other));
    ready_.erase(other);
  }
  return work;
}

bool ParameterServerImpl::Next(Work *work) {
  if (running_.size() >= kMaxRunning) return false;
  // An update of rows is run by Complete: what is behind it would wait there.
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

void ParameterServerImpl::Begin(Work work) {
  BatchRows rows;
  int function = server_->schedule;
  if (work.block >= 0) {
    const BlockProgram &program = server_->blocks[size_t(work.block)];
    function = program.function;
    // The gradients live as long as the work.
    for (uint32_t b : program.together) {
      blocks_[b].running = true;
      // All trainers have pushed after they had this value.
      blocks_[b].previous = {};
      const Work *own = &work;
      for (const Work &other : work.others)
        if (other.block == int(b)) own = &other;
      rows.data.push_back(own->gradient.bytes.data());
    }
    if (OfRows(work)) return running_.push_back(std::move(work));
    if (work.others.empty()) rows.owner = work.gradient.owner;
  } else {
    ++schedules_;
  }
  running_.push_back(std::move(work));
  mu_.Unlock();
  absl::StatusOr<uint64_t> call =
      executor_->Enqueue(function, std::move(rows));
  mu_.Lock();
  if (call.ok()) {
    running_.back().call = *call;
    return;
  }
  mu_.Unlock();
  Fail(Named(call.status()));
  mu_.Lock();
}

// Waits for the update that has begun first.
void ParameterServerImpl::Complete() {
  const uint64_t call = running_.front().call;
  const int index = running_.front().block;
  if (OfRows(running_.front())) return CompleteRows();
  mu_.Unlock();
  absl::Status status = executor_->Metrics(call).status();
  std::vector<SharedBytes> values(blocks_.size());
  if (index >= 0)
    for (uint32_t b : server_->blocks[size_t(index)].together) {
      if (!status.ok()) break;
      absl::StatusOr<SharedBytes> value =
          executor_->ShareSlot(server_->blocks[b].slot);
      if (value.ok()) values[b] = *std::move(value);
      else status = value.status();
    }
  mu_.Lock();
  if (!status.ok()) {
    std::string what = index < 0 ? "schedule"
                                 : absl::StrCat("update of ",
                                                Where(blocks_[size_t(index)]));
    mu_.Unlock();
    Fail(Named(absl::Status(status.code(),
                            absl::StrCat(what, ": ", status.message()))));
    mu_.Lock();
    return;
  }
  Work work = std::move(running_.front());
  running_.pop_front();
  stall_.Progress();
  changed_.SignalAll();
  if (index < 0) return;
  std::vector<std::pair<PullDone, SharedBytes>> answers;
  for (Work &other : work.others) {
    const size_t b = size_t(other.block);
    CompleteBlock(std::move(other), std::move(values[b]), &answers);
  }
  CompleteBlock(std::move(work), std::move(values[size_t(index)]), &answers);
  if (answers.empty()) return;
  mu_.Unlock();
  for (auto &[done, value] : answers) done(value);
  answers.clear();
  mu_.Lock();
}

void ParameterServerImpl::CompleteBlock(
    Work work, SharedBytes value,
    std::vector<std::pair<PullDone, SharedBytes>> *answers) {
  Block &block = blocks_[size_t(work.block)];
  block.running = false;
  ++block.updates;
  if (work.trainer >= 0) block.applied[size_t(work.trainer)] = work.step + 1;
  if (sync()) block.previous = std::move(block.current);
  block.current = std::move(value);
  if (work.memory != nullptr) block.spare.push_back(std::move(work.memory));
  std::vector<PendingPull> waiting;
  for (PendingPull &pull : block.pulls) {
    if (HasVersion(block, pull.trainer, pull.version)) {
      answers->emplace_back(std::move(pull.done), block.current);
      --pulls_;
    } else {
      waiting.push_back(std::move(pull));
    }
  }
  block.pulls = std::move(waiting);
}

bool ParameterServerImpl::AnswerFinal() {
  if (pulls_ == 0 || !Finished()) return false;
  std::vector<std::pair<PullDone, SharedBytes>> answers;
  std::vector<std::pair<Block *, PendingPull>> of_rows;
  for (Block &block : blocks_) {
    std::vector<PendingPull> waiting;
    for (PendingPull &pull : block.pulls) {
      if (pull.version != ParameterClient::kFinal) {
        waiting.push_back(std::move(pull));
        continue;
      }
      --pulls_;
      if (block.program->of_rows()) {
        if (sync()) pull.version = block.updates;
        of_rows.emplace_back(&block, std::move(pull));
      } else {
        answers.emplace_back(std::move(pull.done), block.current);
      }
    }
    block.pulls = std::move(waiting);
  }
  if (answers.empty() && of_rows.empty()) return false;
  for (auto &[block, pull] : of_rows) AnswerRows(block, std::move(pull));
  mu_.Unlock();
  for (auto &[done, value] : answers) done(value);
  answers.clear();
  mu_.Lock();
  return true;
}

void ParameterServerImpl::WaitForWork() {
  if (pulls_ == 0) {
    work_.Wait(&mu_);
    return;
  }
  const Clock::duration deadline = absl::ToChronoNanoseconds(
      std::min(options_.deadline, absl::Hours(24 * 365)));
  if (stall_.Idle() < deadline) {
    work_.WaitUntil(&mu_, stall_.NextLook(deadline));
    return;
  }
  absl::Status late = absl::DeadlineExceededError(
      absl::StrCat("no progress within ", absl::FormatDuration(options_.deadline),
                   ": ", Missing()));
  mu_.Unlock();
  Fail(Named(late));
  mu_.Lock();
}

// Which block waits, and for whom.
std::string ParameterServerImpl::Missing() const {
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
  std::vector<std::string> names;
  for (int r : missing)
    names.push_back(absl::StrCat(
        r, trainers_[size_t(r)].joined ? "" : " (which never joined)"));
  return absl::StrCat(
      Where(*late),
      sync() ? absl::StrCat(" in step ", late->combining) : std::string(),
      " still waits for the push of trainer", names.size() > 1 ? "s " : " ",
      absl::StrJoin(names, ", "));
}

void ParameterServerImpl::Run() {
  mu_.Lock();
  while (!stop_ && status_.ok()) {
    if (AnswerFinal()) continue;
    Work work;
    if (Next(&work))
      Begin(std::move(work));
    else if (!running_.empty())
      Complete();
    else
      WaitForWork();
  }
  ended_ = true;
  changed_.SignalAll();
  mu_.Unlock();
}

}  // namespace commsched::runtime
