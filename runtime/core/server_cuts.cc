// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the checkpoints of a parameter server are cut: before a step, the same on
// all servers of the job, so that they and the trainers can begin again there.
#include <algorithm>
#include <utility>

#include "runtime/core/server.h"

namespace commsched::runtime::core {

uint64_t Server::Behind(uint64_t step) const {
  const uint64_t every = options_.cut_every;
  return every == 0 ? kNever : (step / every + 1) * every;
}

// Whose steps before the cut are not all there; asynchronous modes.
bool Server::IsBeforeCut(const Block &block, size_t trainer) const {
  return trainers_[trainer].finish == kNever && block.applied[trainer] < cut_;
}

bool Server::AtCut() const {
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

void Server::Pause() {
  hold_ = 0;  // asynchronous: nothing begins
  for (const Block &block : blocks_)
    if (sync()) hold_ = std::max(hold_, block.updates + (block.running ? 1 : 0));
  paused_ = true;
}

bool Server::Still() const {
  if (!running_.empty()) return false;
  for (const Block &block : blocks_)
    if (block.adding || (sync() && block.updates < hold_)) return false;
  return true;
}

std::optional<uint64_t> Server::PassCut() {
  finishes_ = 0;
  if (cut_ == kNever) return std::nullopt;
  std::optional<uint64_t> step;
  if (Finished()) {
    step = 0;
    for (const Trainer &trainer : trainers_) step = std::max(*step, trainer.finish);
  } else if (AtCut()) {
    step = cut_;
  }
  if (step) cut_ = Behind(*step);
  return step;
}

Server::State Server::state() const {
  State state;
  state.schedules = schedules_;
  state.cut = cut_;
  for (const Trainer &trainer : trainers_) state.finish.push_back(trainer.finish);
  state.ready = ready_;
  for (const Block &block : blocks_) state.blocks.push_back(block);
  return state;
}

absl::Status Server::SetState(State state, bool whole_job) {
  schedules_ = state.schedules;
  if (options_.cut_every != 0 && state.cut != kNever) cut_ = state.cut;
  for (size_t t = 0; t < trainers_.size(); ++t) trainers_[t].finish = state.finish[t];
  ready_ = std::move(state.ready);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    static_cast<BlockState &>(blocks_[b]) = std::move(state.blocks[b]);
    blocks_[b].has_before = false;
  }
  return whole_job ? ForgetBehindCut() : absl::OkStatus();
}

// Goes back to where the trainers begin again.
absl::Status Server::ForgetBehindCut() {
  uint64_t step = 0;
  for (Trainer &trainer : trainers_) trainer.finish = kNever;
  ready_.clear();
  for (Block &block : blocks_) {
    if (sync() && block.updates != blocks_[0].updates)
      return absl::InvalidArgumentError("its blocks are not at one step");
    block.combining = block.updates;
    block.added = block.parts = 0;
    for (size_t t = 0; t < trainers_.size(); ++t) {
      block.arrived[t].clear();
      block.taken[t] = sync() ? block.updates : block.applied[t];
      step = std::max(step, block.taken[t]);
    }
  }
  cut_ = Behind(step);
  return absl::OkStatus();
}

}  // namespace commsched::runtime::core
