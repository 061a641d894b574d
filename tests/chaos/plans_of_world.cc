// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the ranks of tests/chaos/ranks_world.h change plans: what runtime/replanning does with
// PlanChange and PlanChangeLeader. A plan's digest is its number here.
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/chaos/ranks_world.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kAnswer = 10 * kSecond, kPrepareDeadline = 60 * kSecond;

}  // namespace

void RanksWorld::ChangePlan(Time at, size_t plan, int refuses) {
  At(at, &ranks_[0], [=, this] {
    wishes_.emplace_back(plan, refuses);
    Lead();
  });
}

// --- Rank 0 -------------------------------------------------------------------

void RanksWorld::ToAll(const PlanMessage &message, size_t plan, int refuses) {
  for (int peer = 1; peer < case_.nodes(); ++peer) {
    End &e = end(0, peer);
    if (!e.end.failure().ok()) continue;
    e.frames.push_back(Word{message, plan, refuses});
    Pump(0, peer);
  }
}

void RanksWorld::Lead() {
  const Rank &rank = ranks_[0];
  using Stage = PlanChangeLeader::Stage;
  const bool idle = leader_.stage() == Stage::kIdle ||
                    (leader_.stage() == Stage::kDecided && switched_ == attempt_ &&
                     !rank.change.decided());
  if (!rank.started || rank.failed || rank.leaving || !idle || wishes_.empty()) return;
  wish_ = wishes_.front();
  wishes_.pop_front();
  ToAll(leader_.Measure(++attempt_));
  Awaits(kAnswer);
  Answered(0, {PlanMessage::kMeasured, attempt_});
}

// Gives up if an answer is missing then.
void RanksWorld::Awaits(Time most) {
  At(now_ + most, &ranks_[0], [=, this, attempt = attempt_, stage = leader_.stage()] {
    if (attempt == attempt_ && leader_.stage() == stage && leader_.asks()) GiveUp(leader_.Late());
  });
}

void RanksWorld::GiveUp(const absl::Status &why) {
  using Stage = PlanChangeLeader::Stage;
  if (leader_.stage() == Stage::kIdle || leader_.stage() == Stage::kDecided) return;
  Note(absl::StrCat("rank 0 gives plan ", attempt_, " up: ", why.message()));
  ToAll(leader_.Forget());
  Drop(0);
  Later(&ranks_[0], kMillisecond, [this] { Lead(); });
}

void RanksWorld::Answered(int r, const PlanMessage &answer) {
  Rank &rank = ranks_[0];
  if (rank.failed || rank.leaving || rank.ended) return;
  const bool asked = leader_.asks();
  if (absl::Status s = leader_.Take(r, answer, "refused"); !s.ok()) {
    if (!answer.refused) wrong_.push_back(std::string(s.message()));
    return GiveUp(s);
  }
  if (!asked || leader_.asks()) return;
  switch (leader_.stage()) {
    case PlanChangeLeader::Stage::kPlanning:
      return Later(&rank, kSecond, [this, attempt = attempt_] {
        if (attempt != attempt_ || leader_.stage() != PlanChangeLeader::Stage::kPlanning) return;
        const auto &[plan, refuses] = wish_;
        ToAll(leader_.Prepare(plan), plan, refuses);
        Awaits(kPrepareDeadline);
        Prepare(0, {{PlanMessage::kPrepare, attempt_, plan}, plan, refuses});
      });
    case PlanChangeLeader::Stage::kPreparing:
      ToAll(leader_.Hold(0));
      Awaits(kAnswer);
      return Answered(0, {PlanMessage::kHolding, attempt_, rank.change.Hold(random_() % 4)});
    case PlanChangeLeader::Stage::kDecided:
      ToAll(leader_.Switch());
      return Later(&rank, kMillisecond, [this, call = leader_.Switch().value] {
        Note(absl::StrCat("plan ", attempt_, " begins with call ", call));
        switched_ = attempt_;
        ranks_[0].change.Switch(call);
        Admit(0);
      });
    default:
      return;
  }
}

// --- All ranks ----------------------------------------------------------------

void RanksWorld::Answer(int r, const PlanMessage &answer) {
  if (r == 0) return Answered(0, answer);
  End &e = end(r, 0);
  if (!e.end.failure().ok()) return;
  e.frames.push_back(Word{answer});
  Pump(r, 0);
}

void RanksWorld::Drop(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (!rank.change.Forget()) return;
  rank.prepared.reset();
  if (rank.started && !rank.failed && !rank.leaving) Admit(r);
}

void RanksWorld::Prepare(int r, const Word &word) {
  Drop(r);
  ranks_[size_t(r)].preparing = true;
  Later(&ranks_[size_t(r)], word.refuses == r ? kMillisecond : 2 * kSecond, [=, this] {
    Rank &rank = ranks_[size_t(r)];
    rank.preparing = false;
    const PlanMessage &asked = word.message;
    const bool refused = word.refuses == r;
    // Rank 0 may have given up meanwhile.
    if (!refused && (r != 0 || (attempt_ == asked.attempt &&
                                leader_.stage() == PlanChangeLeader::Stage::kPreparing)))
      rank.prepared.emplace(uint32_t(asked.attempt), word.plan);
    Answer(r, {PlanMessage::kPrepared, asked.attempt, asked.value, refused});
    if (r != 0) Hear(r);
  });
}

// Of a rank that follows: what it is asked, in order, as a thread beside the training does.
void RanksWorld::Hear(int r) {
  Rank &rank = ranks_[size_t(r)];
  while (!rank.words.empty() && !rank.preparing && !rank.failed && !rank.leaving) {
    const Word word = rank.words.front();
    const PlanMessage &asked = word.message;
    if (asked.kind == PlanMessage::kPrepare && rank.change.decided()) return;
    rank.words.pop_front();
    switch (asked.kind) {
      case PlanMessage::kMeasure:
        Answer(r, {PlanMessage::kMeasured, asked.attempt});
        break;
      case PlanMessage::kPrepare:
        Prepare(r, word);
        break;
      case PlanMessage::kHold:
        Answer(r, {PlanMessage::kHolding, asked.attempt, rank.change.Hold(random_() % 4)});
        break;
      case PlanMessage::kSwitch:
        rank.change.Switch(asked.value);
        if (rank.started) Admit(r);
        break;
      default:
        Drop(r);
    }
  }
}

bool RanksWorld::MayCall(int r) {
  Rank &rank = ranks_[size_t(r)];
  if (!rank.draining.has_value()) {
    const auto turn = rank.change.At(rank.next_call);
    if (turn == PlanChange::Turn::kWait) {
      if (rank.waits_since < 0) {
        rank.waits_since = now_;
        At(now_ + kDeadline, &rank, [=, this, since = now_] {
          if (ranks_[size_t(r)].waits_since == since)
            Fail(r, absl::DeadlineExceededError("peer 0 has not said with which call it begins"));
        });
      }
      return false;
    }
    rank.waits_since = -1;
    if (turn == PlanChange::Turn::kMissed)
      wrong_.push_back(absl::StrCat("rank ", r, " has missed the new plan"));
    if (turn == PlanChange::Turn::kOld && !rank.calls->MayBegin(ProgramOf(r))) return false;
    rank.change.Next(rank.next_call);
    if (turn != PlanChange::Turn::kNew) return true;
    if (!rank.prepared.has_value()) {
      wrong_.push_back(absl::StrCat("rank ", r, " has not prepared the plan that begins"));
      return false;
    }
    rank.draining = std::exchange(rank.prepared, std::nullopt);
  }
  if (!rank.calls->empty()) return false;
  std::tie(rank.lane, rank.plan) = *std::exchange(rank.draining, std::nullopt);
  rank.changes.emplace_back(rank.lane, rank.next_call);
  rank.calls = std::make_unique<Calls>(case_.streams);
  rank.queues.clear();
  for (Tensor &buffer : rank.buffers) buffer.assign(buffer.size(), 0);
  Later(&rank, kMillisecond, [=, this] { r == 0 ? Lead() : Hear(r); });
  return true;
}

}  // namespace commsched::runtime::core
