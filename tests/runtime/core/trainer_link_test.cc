// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trainer's link to a server in random histories of connections that break: when it
// dials, when it is late, and what it sends, beside a record of what the server has.
#include "runtime/core/trainer_link.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kDeadline = 30 * TrainerLink::kRedial;

using Key = std::pair<uint64_t, uint32_t>;  // step or version, block

class LinkHistory {
 public:
  explicit LinkHistory(uint64_t seed)
      : random_(seed), blocks_(1 + uint32_t(Draw(3))), keeps_(Draw(2) == 0), link_(3, kDeadline, now_) {
    taken_.assign(blocks_, 0);
    safe_.assign(blocks_, 0);
    pushed_.assign(blocks_, 0);
  }

  void Run() {
    for (int move = 0; move < 400 && !late_ && !::testing::Test::HasFailure(); ++move) Move();
  }
  bool late() const { return late_; }
  int joins() const { return joins_; }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  void Move() {
    now_ += Time(Draw(Draw(20) == 0 ? 6 * kDeadline / 5 : TrainerLink::kRedial / 2));
    switch (Draw(7)) {
      case 0:
      case 1:
        return Tick();
      case 2:
        return trying_ && !joined_ && Draw(3) != 0 ? Join() : void();
      case 3:
        if (!trying_ || Draw(4) != 0) return;
        // Half of the attempts fail.
        link_.Gone(now_);
        if (joined_) away_since_ = now_;
        dial_at_ = now_ + TrainerLink::kRedial;
        trying_ = joined_ = false;
        sent_.clear();
        return;
      case 4:
        return Push();
      case 5:
        return Pull();
      case 6:
        return Server();
    }
  }

  // Late is who was away for the deadline since the connection broke, or since the beginning.
  void Tick() {
    Time next = 0;
    const TrainerLink::Due due = link_.Tick(now_, &next);
    if (joined_) {
      EXPECT_EQ(due, TrainerLink::Due::kNothing);
      return;
    }
    late_ = now_ - away_since_ >= kDeadline;
    const bool dials = !late_ && !trying_ && now_ >= dial_at_;
    EXPECT_EQ(due, late_ ? TrainerLink::Due::kLate : dials ? TrainerLink::Due::kDial
                                                           : TrainerLink::Due::kNothing);
    trying_ |= dials;
    if (late_) return;
    EXPECT_EQ(next, trying_ ? away_since_ + kDeadline : std::min(away_since_ + kDeadline, dial_at_));
  }

  void Join() {
    if (keeps_ && Draw(3) == 0)  // the server was restored: it has what was safe, or more
      for (uint32_t b = 0; b < blocks_; ++b) taken_[b] = safe_[b] + Draw(taken_[b] - safe_[b] + 1);
    TrainerLink::Welcome welcome{.steps = 5, .taken = taken_, .keeps_checkpoints = keeps_};
    if (welcomed_ && Draw(30) == 0) {
      // It has lost what it must have.
      const uint32_t b = uint32_t(Draw(blocks_));
      const uint64_t must = keeps_ ? safe_[b] : acknowledged_[b];
      if (must > 0) {
        welcome.taken[b] = must - 1;
        const auto sent = link_.Join(welcome);
        EXPECT_EQ(sent.status().code(), absl::StatusCode::kDataLoss);
        late_ = true;
        return;
      }
    }
    auto sent = link_.Join(welcome);
    ASSERT_TRUE(sent.ok()) << sent.status();
    if (!welcomed_) acknowledged_.assign(blocks_, 0);
    welcomed_ = joined_ = true;
    ++joins_;
    if (!keeps_) acknowledged_ = taken_;
    std::set<Key> pushes, pulls;
    for (const TrainerLink::Message &message : *sent) {
      std::set<Key> &of = message.kind == TrainerLink::Message::kPush ? pushes : pulls;
      EXPECT_TRUE(of.insert({message.step, message.block}).second) << "sent twice";
      if (message.kind == TrainerLink::Message::kPush) sent_.push_back({message.step, message.block});
    }
    std::set<Key> wanted;
    for (uint32_t b = 0; b < blocks_; ++b)
      for (uint64_t step = taken_[b]; step < pushed_[b]; ++step) wanted.insert({step, b});
    EXPECT_EQ(pushes, wanted);
    EXPECT_EQ(pulls, pulls_);
  }

  void Push() {
    const uint32_t block = uint32_t(Draw(blocks_));
    const uint64_t step = pushed_[block]++;
    auto message = link_.Push(block, step, {});
    ASSERT_TRUE(message.ok());
    EXPECT_EQ(message->has_value(), joined_);
    if (joined_) sent_.push_back({step, block});
    EXPECT_FALSE(link_.Push(block, step, {}).ok());
  }

  void Pull() {
    const Key key{Draw(20), uint32_t(Draw(blocks_))};
    auto message = link_.Pull(key.second, key.first);
    EXPECT_EQ(message.ok(), pulls_.insert(key).second);
    if (message.ok()) {
      EXPECT_EQ(message->has_value(), joined_);
    }
  }

  // What it says over a connection.
  void Server() {
    if (!joined_) return;
    if (!pulls_.empty() && Draw(3) == 0) {
      const auto [version, block] = *pulls_.begin();
      link_.Pulled(block, version);
      pulls_.erase(pulls_.begin());
    } else if (keeps_ && Draw(3) == 0) {
      safe_ = taken_;
      ASSERT_TRUE(link_.Safe(safe_).ok());
    } else if (!sent_.empty()) {
      const auto [step, block] = sent_.front();
      sent_.erase(sent_.begin());
      if (step != taken_[block]) return;  // out of order: it waits for those before
      ++taken_[block];
      ASSERT_TRUE(link_.Taken(block, step).ok());
      if (!keeps_) acknowledged_[block] = taken_[block];
    }
  }

  std::mt19937_64 random_;
  const uint32_t blocks_;
  const bool keeps_;
  Time now_ = 1000, away_since_ = now_, dial_at_ = now_;
  TrainerLink link_;
  bool trying_ = false, joined_ = false, welcomed_ = false, late_ = false;
  std::vector<uint64_t> taken_, safe_, pushed_, acknowledged_;
  std::vector<Key> sent_;
  std::set<Key> pulls_;
  int joins_ = 0;
};

TEST(TrainerLink, KeepsWhatTheServerMayStillNeed) {
  int late = 0, joins = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    LinkHistory history(seed);
    history.Run();
    late += history.late();
    joins += history.joins();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(late, 500);
  EXPECT_GT(joins, 6000);
}

}  // namespace
}  // namespace commsched::runtime::core
