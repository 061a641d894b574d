// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the checkpoints of a parameter server are cut: before a step, the same on
// all servers of the job, so that they and the trainers can begin again there.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/parameter_server_impl.h"
#include "runtime/status_util.h"

namespace commsched::runtime {

uint64_t ParameterServerImpl::Behind(uint64_t step) const {
  const uint64_t every = options_.cut_every;
  return every == 0 ? kNever : (step / every + 1) * every;
}

uint64_t ParameterServerImpl::cut() {
  MutexLock lock(&mu_);
  return cut_;
}

bool ParameterServerImpl::AllFinished() const {
  return std::all_of(trainers_.begin(), trainers_.end(),
                     [](const Trainer &t) { return t.finish != kNever; });
}

bool ParameterServerImpl::IsBeforeCut(const Block &block, size_t trainer) const {
  return trainers_[trainer].finish == kNever && block.applied[trainer] < cut_;
}

bool ParameterServerImpl::AtCut() const {
  // Without blocks, only the end is known.
  if (cut_ == kNever || blocks_.empty() || !running_.empty()) return false;
  for (const Work &work : ready_)
    if (work.step < cut_) return false;
  for (const Block &block : blocks_) {
    if (block.adding || (sync() && block.updates < cut_)) return false;
    for (size_t t = 0; t < trainers_.size() && !sync(); ++t)
      if (IsBeforeCut(block, t)) return false;
  }
  return true;
}

// Until all blocks are at one step and nothing moves. What arrives meanwhile is
// kept.
absl::Status ParameterServerImpl::Pause(bool wait) {
  while (status_.ok() && saving_) changed_.Wait(&mu_);
  // Whoever is late is named by those who wait for him.
  while (status_.ok() && !AtCut() &&
         (AllFinished() ? !Finished() : wait && finishes_ == 0))
    changed_.Wait(&mu_);
  if (!status_.ok()) return Unshared(status_);
  hold_ = 0;  // asynchronous: nothing begins
  for (const Block &block : blocks_)
    if (sync()) hold_ = std::max(hold_, block.updates + (block.running ? 1 : 0));
  saving_ = true;
  const Clock::time_point end = After(options_.deadline);
  while (status_.ok()) {
    bool still = running_.empty();
    for (const Block &block : blocks_)
      still &= !block.adding && (!sync() || block.updates >= hold_);
    if (still) return absl::OkStatus();
    if (changed_.WaitUntil(&mu_, end) && Clock::now() >= end)
      return Named(absl::DeadlineExceededError(
          absl::StrCat("cannot save: no common step within ",
                       absl::FormatDuration(options_.deadline), ": ", Missing())));
  }
  return Unshared(status_);
}

// The step of the job that a checkpoint is of that is taken now.
std::optional<uint64_t> ParameterServerImpl::PassCut() {
  finishes_ = 0;
  if (cut_ == kNever) return std::nullopt;
  std::optional<uint64_t> step;
  if (Finished()) {
    step = 0;
    for (const Trainer &trainer : trainers_)
      step = std::max(*step, trainer.finish);
  } else if (AtCut()) {
    step = cut_;
  }
  if (step) cut_ = Behind(*step);
  return step;
}

// Goes back to where the trainers begin again.
absl::Status ParameterServerImpl::ForgetBehindCut() {
  uint64_t step = 0;
  for (Trainer &trainer : trainers_) trainer.finish = kNever;
  ready_.clear();
  for (Block &block : blocks_) {
    if (sync() && block.updates != blocks_[0].updates)
      return absl::InvalidArgumentError("its blocks are not at one step");
    block.combining = block.updates;
    block.added = block.parts = 0;
    block.scaled = false;
    block.sum = nullptr;
    block.row_parts.clear();
    for (size_t t = 0; t < trainers_.size(); ++t) {
      block.arrived[t].clear();
      block.taken[t] = sync() ? block.updates : block.applied[t];
      step = std::max(step, block.taken[t]);
    }
  }
  cut_ = Behind(step);
  return absl::OkStatus();
}

}  // namespace commsched::runtime
