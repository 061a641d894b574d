// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/trainer_link.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"

namespace commsched::runtime::core {

TrainerLink::Due TrainerLink::Tick(Time now, Time *next) {
  *next = std::numeric_limits<Time>::max();
  if (joined_ || leaving_) return Due::kNothing;
  if (now - away_since_ >= deadline_) return Due::kLate;
  *next = away_since_ + deadline_;
  if (trying_) return Due::kNothing;
  if (now < next_dial_) {
    *next = std::min(*next, next_dial_);
    return Due::kNothing;
  }
  trying_ = true;
  return Due::kDial;
}

void TrainerLink::Gone(Time now) {
  if (joined_) away_since_ = now;
  trying_ = joined_ = false;
  next_dial_ = now + kRedial;
}

absl::StatusOr<std::vector<TrainerLink::Message>> TrainerLink::Join(const Welcome &welcome) {
  const size_t blocks = welcome.taken.size();
  if (!welcomed_) {
    first_step_ = welcome.steps;
    safe_.assign(blocks, 0);
    keeps_checkpoints_ = welcome.keeps_checkpoints;
  } else if (blocks != safe_.size() || welcome.keeps_checkpoints != keeps_checkpoints_) {
    return absl::FailedPreconditionError(
        "came back with other blocks or another use of checkpoints");
  }
  for (uint32_t block = 0; block < blocks; ++block) {
    if (welcomed_ && welcome.taken[block] < safe_[block])
      return absl::DataLossError(absl::StrFormat(
          "came back without updates that it had %s: of block %d it has "
          "those of trainer %d before step %d, and must have those before %d",
          keeps_checkpoints_ ? "said to be safe" : "taken, for it keeps no checkpoints",
          block, trainer_, welcome.taken[block], safe_[block]));
    if (!keeps_checkpoints_) LetGo(block, welcome.taken[block]);
  }
  trying_ = joined_ = welcomed_ = true;
  std::vector<Message> send;
  for (const auto &[key, payload] : pushes_)
    if (key.second >= blocks || key.first >= welcome.taken[key.second])
      send.push_back({Message::kPush, key.first, key.second, 0, payload});
  for (const auto &[version, block] : pulls_)
    send.push_back({Message::kPull, version, block, 0, {}});
  for (const auto &[request, key] : row_pulls_)
    send.push_back({Message::kPullRows, key.first, key.second, request, {}});
  if (finish_.has_value() && !finished_)
    send.push_back({Message::kFinish, *finish_, 0, 0, {}});
  return send;
}

absl::StatusOr<std::optional<TrainerLink::Message>> TrainerLink::Push(uint32_t block,
                                                                      uint64_t step,
                                                                      SharedBytes payload) {
  if (pushes_.contains({step, block}) || (block < safe_.size() && step < safe_[block]))
    return absl::InvalidArgumentError(
        absl::StrFormat("block %d of step %d has been pushed already", block, step));
  pushes_.emplace(Key{step, block}, payload);
  if (!joined_) return std::nullopt;
  return Message{Message::kPush, step, block, 0, std::move(payload)};
}

absl::StatusOr<std::optional<TrainerLink::Message>> TrainerLink::Pull(uint32_t block,
                                                                      uint64_t version) {
  if (!pulls_.insert({version, block}).second)
    return absl::InvalidArgumentError(
        absl::StrFormat("version %d of block %d is being pulled already", version, block));
  if (!joined_) return std::nullopt;
  return Message{Message::kPull, version, block, 0, {}};
}

std::pair<uint64_t, std::optional<TrainerLink::Message>> TrainerLink::PullRows(
    uint32_t block, uint64_t version) {
  const uint64_t request = next_request_++;
  row_pulls_.emplace(request, Key{version, block});
  if (!joined_) return {request, std::nullopt};
  return {request, Message{Message::kPullRows, version, block, request, {}}};
}

std::optional<TrainerLink::Message> TrainerLink::Finish(uint64_t steps) {
  finish_ = steps;
  if (!joined_) return std::nullopt;
  return Message{Message::kFinish, steps, 0, 0, {}};
}

void TrainerLink::LetGo(uint32_t block, uint64_t next) {
  if (next <= safe_[block]) return;
  // Few steps are kept, many blocks: look the block up in each step.
  for (auto at = pushes_.begin(); at != pushes_.end() && at->first.first < next;) {
    const uint64_t step = at->first.first;
    pushes_.erase(Key{step, block});
    at = pushes_.lower_bound({step + 1, 0});
  }
  safe_[block] = next;
}

absl::Status TrainerLink::Taken(uint32_t block, uint64_t step) {
  if (block >= safe_.size())
    return absl::DataLossError("got an answer for a block that is not");
  if (!keeps_checkpoints_) LetGo(block, step + 1);
  return absl::OkStatus();
}

absl::Status TrainerLink::Safe(const std::vector<uint64_t> &next) {
  if (next.size() != safe_.size())
    return absl::DataLossError(absl::StrFormat("number of blocks must match %d, got: %d",
                                               safe_.size(), next.size()));
  for (uint32_t block = 0; block < safe_.size(); ++block) LetGo(block, next[block]);
  return absl::OkStatus();
}

std::vector<SharedBytes> TrainerLink::Clear() {
  std::vector<SharedBytes> kept;
  for (auto &[key, payload] : pushes_) kept.push_back(std::move(payload));
  pushes_.clear();
  pulls_.clear();
  row_pulls_.clear();
  return kept;
}

}  // namespace commsched::runtime::core
