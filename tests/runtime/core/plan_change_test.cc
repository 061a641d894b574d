// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The change of all ranks to another plan: whatever they do while they are asked, all of
// them make the same call first with it; and what rank 0 makes of answers.
#include "runtime/core/plan_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

using ::testing::HasSubstr;
using Stage = PlanChangeLeader::Stage;
using Turn = PlanChange::Turn;

// A rank with what is on its way to it, and to rank 0 from it. Calls depend on nobody, so
// that ranks are as far apart as they like.
struct Member {
  PlanChange change;
  uint64_t calls = 0;
  std::vector<uint64_t> changed;  // the calls with which a plan began
  std::deque<PlanMessage> in, out;
  bool holds = false;  // has been asked, and has not heard since
};

class Change {
 public:
  explicit Change(uint64_t seed) : random_(seed), ranks_(2 + random_() % 4), leader_(Everybody()) {}

  void Run() {
    for (uint64_t moves = 0; moves < 400; ++moves) Move();
    // All that is on its way comes, and nobody waits.
    while (leader_.stage() != Stage::kIdle && !decided_) Move();
    for (size_t r = 0; r < ranks_.size(); ++r)
      while (!ranks_[r].in.empty()) Hear(r);
    for (int more = 0; more < 50; ++more)
      for (Member &rank : ranks_) Call(&rank);
    for (const Member &rank : ranks_) {
      EXPECT_EQ(rank.changed, switches_);
      EXPECT_GE(rank.calls, 50u);
    }
  }
  size_t switches() const { return switches_.size(); }

 private:
  std::set<int> Everybody() const {
    std::set<int> all;
    for (size_t r = 0; r < ranks_.size(); ++r) all.insert(int(r));
    return all;
  }
  void Call(Member *rank) {
    switch (rank->change.Next(rank->calls)) {
      case Turn::kNew:
        rank->changed.push_back(rank->calls++);
        break;
      case Turn::kOld:
        ++rank->calls;
        break;
      case Turn::kWait:
        EXPECT_TRUE(rank->holds);
        break;
      case Turn::kMissed:
        ADD_FAILURE() << "call " << rank->calls << " is too late for the new plan";
    }
  }
  void ToAll(const PlanMessage &message) {
    for (Member &rank : ranks_) rank.in.push_back(message);
  }
  void Hear(size_t r) {
    Member &rank = ranks_[r];
    const PlanMessage message = rank.in.front();
    // A plan is prepared when the one before runs.
    if (message.kind == PlanMessage::kPrepare)
      while (rank.change.decided()) Call(&rank);
    rank.in.pop_front();
    PlanMessage answer{message.kind + 1, message.attempt, message.value};
    switch (message.kind) {
      case PlanMessage::kHold:
        answer.value = rank.change.Hold(random_() % 4);
        EXPECT_GE(answer.value, rank.calls);
        rank.holds = true;
        break;
      case PlanMessage::kSwitch:
        rank.change.Switch(message.value);
        rank.holds = false;
        return;
      case PlanMessage::kForget:
        // One that was decided on before still begins.
        EXPECT_NE(rank.change.Forget(), rank.change.decided());
        rank.holds = false;
        return;
      default:
        break;
    }
    rank.out.push_back(answer);
  }
  void Move() {
    const size_t r = random_() % ranks_.size();
    Member &rank = ranks_[r];
    switch (random_() % 4) {
      case 0:
        return Call(&rank);
      case 1:
        if (!rank.in.empty()) Hear(r);
        return;
      case 2:
        if (rank.out.empty()) return;
        ASSERT_TRUE(leader_.Take(int(r), rank.out.front()).ok());
        rank.out.pop_front();
        return Lead();
      default:
        if (leader_.stage() == Stage::kIdle || decided_) {
          ToAll(leader_.Measure(++attempt_));
          decided_ = false;
        } else if (random_() % 16 == 0) {
          ToAll(leader_.Forget());
        }
    }
  }
  void Lead() {
    if (leader_.asks() || decided_) return;
    if (leader_.stage() == Stage::kPlanning) return ToAll(leader_.Prepare(attempt_));
    if (leader_.stage() == Stage::kPreparing) return ToAll(leader_.Hold(1));
    if (leader_.stage() != Stage::kDecided) return;
    decided_ = true;
    switches_.push_back(leader_.Switch().value);
    ToAll(leader_.Switch());
  }

  std::mt19937_64 random_;
  std::vector<Member> ranks_;
  PlanChangeLeader leader_;
  uint64_t attempt_ = 0;
  bool decided_ = false;
  std::vector<uint64_t> switches_;
};

TEST(PlanChange, AllRanksChangeWithTheSameCall) {
  size_t switches = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Change job(seed);
    job.Run();
    switches += job.switches();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(switches, 2000u);
}

TEST(PlanChange, AnAnswerThatFitsNoQuestionEndsTheAttempt) {
  PlanChangeLeader leader({0, 1, 2});
  // Of nothing that was asked: it counts for nothing.
  EXPECT_TRUE(leader.Take(1, {PlanMessage::kPrepared, 4, 7}).ok());
  leader.Measure(5);
  EXPECT_TRUE(leader.Take(1, {PlanMessage::kPrepared, 4, 7}).ok());
  EXPECT_THAT(std::string(leader.Take(1, {PlanMessage::kHolding, 5, 7}).message()),
              HasSubstr("rank 1: answer must be of kind 2 to attempt 5, got: kind 6"));
  EXPECT_THAT(std::string(leader.Take(1, {PlanMessage::kMeasured, 6}).message()),
              HasSubstr("to attempt 6"));
  EXPECT_TRUE(leader.Take(1, {PlanMessage::kMeasured, 5}).ok());
  EXPECT_THAT(std::string(leader.Take(1, {PlanMessage::kMeasured, 5}).message()),
              HasSubstr("rank 1"));
  EXPECT_EQ(leader.Late().message(), "rank 0 does not answer");
  EXPECT_TRUE(leader.Take(0, {PlanMessage::kMeasured, 5}).ok());
  EXPECT_EQ(leader.stage(), Stage::kMeasuring);
  EXPECT_TRUE(leader.Take(2, {PlanMessage::kMeasured, 5}).ok());
  EXPECT_EQ(leader.stage(), Stage::kPlanning);

  leader.Prepare(0xabc);
  EXPECT_THAT(std::string(leader.Take(2, {PlanMessage::kPrepared, 5, 0xabd}).message()),
              HasSubstr("rank 2: digest of the plan must match 0000000000000abc, got: "
                        "0000000000000abd"));
  EXPECT_EQ(leader.Take(2, {PlanMessage::kPrepared, 5, 0xabc, /*refused=*/true}, "no memory")
                .message(),
            "rank 2: no memory");
  leader.Forget();
  EXPECT_EQ(leader.stage(), Stage::kIdle);
  EXPECT_TRUE(leader.Take(2, {PlanMessage::kPrepared, 5, 0xabd}).ok());
}

TEST(PlanChange, WhatIsDecidedIsNotForgotten) {
  PlanChange change;
  EXPECT_EQ(change.Next(0), Turn::kOld);
  EXPECT_EQ(change.Hold(1), 2u);
  EXPECT_EQ(change.Next(1), Turn::kOld);
  EXPECT_EQ(change.Next(2), Turn::kWait);
  change.Switch(3);
  EXPECT_FALSE(change.Forget());
  EXPECT_EQ(change.Next(2), Turn::kOld);
  EXPECT_EQ(change.At(4), Turn::kMissed);
  EXPECT_EQ(change.Next(3), Turn::kNew);
  EXPECT_EQ(change.Next(4), Turn::kOld);
  EXPECT_FALSE(change.decided());
}

}  // namespace
}  // namespace commsched::runtime::core
