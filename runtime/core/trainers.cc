// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/trainers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace commsched::runtime::core {

Trainers::Trainers(const Options &options, uint64_t cut, Time start)
    : options_(options), looked_(start), trainers_(size_t(options.trainers)), cut_(cut) {
  for (Trainer &trainer : trainers_) trainer.next.assign(options_.blocks, 0);
}

void Trainers::Restore(int rank, std::vector<uint64_t> next, bool finished) {
  Trainer &trainer = trainers_[size_t(rank)];
  trainer.next = std::move(next);
  trainer.next.resize(options_.blocks);
  if (!finished) return;
  // It may want to hear that it is safe, or have left long ago.
  trainer.joined = trainer.finished = true;
}

Time Trainers::Present(Time now) const {
  return present_ + std::clamp(now - looked_, Time{0}, 2 * options_.tick);
}

// --- Who is there -------------------------------------------------------------

absl::Status Trainers::MayJoin(int rank, uint64_t session, uint64_t run_digest) const {
  const Trainer &trainer = of(rank);
  if (trainer.session != 0 && trainer.session != session)
    return absl::FailedPreconditionError(
        absl::StrFormat("another process has joined as trainer %d", rank));
  if (trainer.left)
    return absl::FailedPreconditionError(
        absl::StrFormat("trainer %d has finished and gone", rank));
  if (run_digest != kAnyRun && run_digest_.value_or(run_digest) != run_digest)
    return absl::Status(
        kOtherRun, "shapes or order of the data must match those of the trainer that joined first");
  return absl::OkStatus();
}

void Trainers::Join(int rank, uint64_t session, uint64_t run_digest, Connection connection,
                    Sayings *sayings) {
  Trainer &trainer = trainers_[size_t(rank)];
  if (run_digest != kAnyRun) run_digest_ = run_digest;
  trainer.session = session;
  trainer.joined = true;
  trainer.gone = false;
  const Connection old = std::exchange(trainer.connection, connection);
  if (old != 0) sayings->push_back({old, Saying::kDrop, 0, 0, {}});
}

void Trainers::Closed(Connection connection, Time now) {
  for (Trainer &trainer : trainers_) {
    if (trainer.connection != connection) continue;
    trainer.connection = 0;
    trainer.away_since = Present(now);
  }
}

absl::Status Trainers::Goodbye(int rank, Sayings *sayings) {
  Trainer &trainer = trainers_[size_t(rank)];
  if (!trainer.finished) return absl::AbortedError("it left before it had finished");
  trainer.gone = trainer.left = true;
  if (trainer.connection != 0)
    sayings->push_back({trainer.connection, Saying::kEnd, 0, 0, {}});
  return absl::OkStatus();
}

void Trainers::Lost(int rank) {
  Trainer &trainer = trainers_[size_t(rank)];
  trainer.told = true;
  trainer.gone |= trainer.finished;  // it gives up what it does behind its last step
}

Trainers::Late Trainers::CheckTimes(Time now) {
  Late late;
  present_ = Present(now);
  looked_ = now;
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    Trainer &trainer = trainers_[rank];
    if (!trainer.joined) {
      late.missing.push_back(int(rank));
    } else if (!trainer.gone && trainer.connection == 0 &&
               present_ - trainer.away_since > options_.grace) {
      if (trainer.finished)
        trainer.gone = true;
      else if (late.trainer < 0)
        late.trainer = int(rank);
    }
  }
  if (late.trainer < 0 && !late.missing.empty() && present_ > options_.join_deadline) {
    late.trainer = late.missing.front();
    late.never_came = true;
  }
  return late;
}

// --- What they do -------------------------------------------------------------

bool Trainers::Taken(int rank, uint32_t block, uint64_t step, bool ok, Sayings *sayings) {
  Trainer &trainer = trainers_[size_t(rank)];
  --trainer.under_way;
  if (!ok) return false;
  trainer.next[block] = std::max(trainer.next[block], step + 1);
  if (trainer.connection != 0)
    sayings->push_back({trainer.connection, Saying::kTaken, block, step, {}});
  AnswerFinish(&trainer, sayings);
  return save_wanted_ || (step + 1 >= cut_ && IsCutReached(trainer));
}

void Trainers::Finish(int rank, Sayings *sayings) {
  Trainer &trainer = trainers_[size_t(rank)];
  trainer.finished = true;
  trainer.wants_answer = true;
  AnswerFinish(&trainer, sayings);
}

// With checkpoints, when it is in one.
void Trainers::AnswerFinish(Trainer *trainer, Sayings *sayings) {
  if (!trainer->wants_answer || trainer->under_way > 0) return;
  if (options_.keeps_checkpoints) {
    save_wanted_ = true;
    return;
  }
  trainer->wants_answer = false;
  if (trainer->connection != 0)
    sayings->push_back({trainer->connection, Saying::kFinished, 0, 0, {}});
}

// --- Checkpoints --------------------------------------------------------------

// It has pushed all blocks of all steps before the cut.
bool Trainers::IsCutReached(const Trainer &trainer) const {
  return options_.keeps_checkpoints && !trainer.next.empty() &&
         std::all_of(trainer.next.begin(), trainer.next.end(),
                     [this](uint64_t next) { return next >= cut_; });
}

bool Trainers::WantsSave(bool ended, bool *reached) const {
  *reached = std::any_of(trainers_.begin(), trainers_.end(),
                         [this](const Trainer &t) { return IsCutReached(t); });
  return save_wanted_ || (*reached && !ended);
}

void Trainers::BeginSave() {
  save_wanted_ = false;
  safe_.clear();
  answer_.clear();
  for (const Trainer &trainer : trainers_) {
    safe_.push_back(trainer.next);
    answer_.push_back(trainer.wants_answer && trainer.under_way == 0);
  }
}

void Trainers::EndSave(uint64_t cut, Sayings *sayings) {
  cut_ = cut;
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    Trainer &trainer = trainers_[rank];
    if (trainer.connection == 0) continue;
    sayings->push_back({trainer.connection, Saying::kSafe, 0, 0, safe_[rank]});
    if (!answer_[rank]) continue;
    trainer.wants_answer = false;
    sayings->push_back({trainer.connection, Saying::kFinished, 0, 0, {}});
  }
}

void Trainers::Sign(Sayings *sayings) const {
  for (const Trainer &trainer : trainers_)
    if (trainer.connection != 0 && trainer.wants_answer)
      sayings->push_back({trainer.connection, Saying::kSafe, 0, 0, std::vector<uint64_t>(options_.blocks)});
}

// --- The end ------------------------------------------------------------------

std::vector<Trainers::Connection> Trainers::Fail() {
  std::vector<Connection> tell;
  for (Trainer &trainer : trainers_) {
    if (trainer.connection == 0) continue;
    trainer.told = true;
    tell.push_back(trainer.connection);
  }
  return tell;
}

void Trainers::Tell(int rank, Connection connection) {
  trainers_[size_t(rank)].told = true;
  trainers_[size_t(rank)].connection = connection;
}

bool Trainers::IsOver(bool failed) const {
  return std::all_of(trainers_.begin(), trainers_.end(), [&](const Trainer &trainer) {
    if (!failed) return trainer.gone;
    return trainer.connection == 0 && (trainer.told || trainer.gone);
  });
}

}  // namespace commsched::runtime::core
