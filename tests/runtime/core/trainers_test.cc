// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trainers of a server in random histories, beside a record of what happened that says
// by itself who may join, what each connection must hear, who is late and what is to be
// saved.
#include "runtime/core/trainers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

constexpr Time kTick = 1000;

std::string TextOf(const Trainers::Sayings &sayings) {
  std::string text;
  for (const Trainers::Saying &s : sayings) {
    absl::StrAppend(&text, s.to, ":", int(s.kind), ":", s.block, ":", s.step);
    for (const uint64_t next : s.next) absl::StrAppend(&text, ",", next);
    text += ' ';
  }
  return text;
}

class ServerHistory {
 public:
  explicit ServerHistory(uint64_t seed)
      : random_(seed),
        blocks_(1 + Draw(3)),
        keeps_(Draw(2) == 0),
        options_{.trainers = 1 + int(Draw(4)),
                 .blocks = blocks_,
                 .keeps_checkpoints = keeps_,
                 .grace = Time(kTick * (2 + Draw(6))),
                 .join_deadline = Time(kTick * (5 + Draw(20))),
                 .tick = kTick},
        cut_(1 + Draw(4)),
        now_(Time(Draw(1000))),
        looked_(now_),
        trainers_(options_, cut_, now_),
        all_(size_t(options_.trainers)) {
    for (size_t t = 0; t < all_.size(); ++t) {
      all_[t].next.assign(blocks_, 0);
      if (Draw(4) != 0) continue;
      for (uint64_t &next : all_[t].next) next = Draw(3);
      if (Draw(4) == 0) all_[t].finished = all_[t].joined = true;
      trainers_.Restore(int(t), all_[t].next, all_[t].finished);
    }
    wanted_ = Wanted(false, nullptr);
  }

  void Run() {
    for (int move = 0; move < 300 && !late_ && !::testing::Test::HasFailure(); ++move) Move();
    End();
  }
  bool late() const { return late_; }
  int saves() const { return saves_; }

 private:
  struct One {
    Trainers::Connection connection = 0;
    uint64_t session = 0;
    bool joined = false, finished = false, asks = false, left = false, gone = false, told = false;
    std::vector<uint64_t> next, begun;
    std::vector<std::pair<uint32_t, uint64_t>> under_way;
    Time lost = 0;  // when its connection closed, as this process has seen time pass
  };

  uint64_t Draw(uint64_t below) { return random_() % below; }
  Time Passed() const { return passed_ + std::min(now_ - looked_, 2 * kTick); }
  void Expect(const Trainers::Sayings &said, const Trainers::Sayings &wanted) {
    EXPECT_EQ(TextOf(said), TextOf(wanted));
  }

  void Move() {
    now_ += Time(Draw(Draw(10) == 0 ? 9 * kTick : kTick / 2));
    const int t = int(Draw(all_.size()));
    One &one = all_[size_t(t)];
    switch (Draw(8)) {
      case 0:
        return Join(t, &one);
      case 1:
        return Close(one);
      case 2:
        return Push(t, &one);
      case 3:
      case 4:
        return Take(t, &one);
      case 5:
        if (one.connection == 0 || Draw(6) != 0) return;
        return one.finished ? Goodbye(t, &one) : Finish(t, &one);
      case 6:
        return Look();
      case 7:
        return Save();
    }
  }

  void Join(int t, One *one) {
    // Now and then another process, or one with other data.
    const uint64_t session = Draw(8) == 0 ? 1000 + Draw(9) : 1 + uint64_t(t);
    const uint64_t digest = Draw(12) == 0 ? Draw(2) == 0 ? Trainers::kAnyRun : 8 : 7;
    const bool may = (one->session == 0 || one->session == session) && !one->left &&
                     (!digest_ || *digest_ == digest || digest == Trainers::kAnyRun);
    ASSERT_EQ(trainers_.MayJoin(t, session, digest).ok(), may);
    if (!may) return;
    if (digest != Trainers::kAnyRun) digest_ = digest;
    Trainers::Sayings said, wanted;
    if (one->connection != 0)
      wanted.push_back({one->connection, Trainers::Saying::kDrop, 0, 0, {}});
    one->session = session;
    one->connection = ++connections_;
    one->joined = true;
    one->gone = false;
    trainers_.Join(t, session, digest, one->connection, &said);
    Expect(said, wanted);
    EXPECT_EQ(trainers_.taken(t), one->next);
    EXPECT_EQ(trainers_.finished(t), one->finished);
    EXPECT_EQ(trainers_.connection(t), one->connection);
  }

  void Close(const One &one) {
    // That of a trainer, or one that was dropped long ago.
    const Trainers::Connection closed =
        one.connection != 0 && Draw(2) == 0 ? one.connection : 1 + Draw(connections_ + 1);
    trainers_.Closed(closed, now_);
    for (One &each : all_) {
      if (each.connection != closed) continue;
      each.connection = 0;
      each.lost = Passed();
    }
  }

  void Push(int t, One *one) {
    if (one->connection == 0 || one->finished) return;
    const uint32_t block = uint32_t(Draw(blocks_));
    uint64_t step = one->next[block];
    for (const auto &[b, s] : one->under_way)
      if (b == block) step = std::max(step, s + 1);
    one->under_way.push_back({block, step});
    trainers_.PushBegins(t);
  }

  void Take(int t, One *one) {
    if (one->under_way.empty()) return;
    const auto [block, step] = one->under_way.front();
    one->under_way.erase(one->under_way.begin());
    const bool ok = Draw(20) != 0;
    Trainers::Sayings said, wanted;
    const bool may_save = trainers_.Taken(t, block, step, ok, &said);
    if (ok) {
      one->next[block] = std::max(one->next[block], step + 1);
      if (one->connection != 0)
        wanted.push_back({one->connection, Trainers::Saying::kTaken, block, step, {}});
      Answer(one, &wanted);
    }
    Expect(said, wanted);
    if (ok && Wanted(false, nullptr) && !wanted_) {
      EXPECT_TRUE(may_save);
    }
    wanted_ = Wanted(false, nullptr);
  }

  // What Finish is answered with when nothing of it is under way.
  void Answer(One *one, Trainers::Sayings *wanted) {
    if (!one->asks || !one->under_way.empty()) return;
    if (keeps_) {
      save_asked_ = true;
      return;
    }
    one->asks = false;
    if (one->connection != 0)
      wanted->push_back({one->connection, Trainers::Saying::kFinished, 0, 0, {}});
  }

  void Finish(int t, One *one) {
    Trainers::Sayings said, wanted;
    one->finished = one->asks = true;
    trainers_.Finish(t, &said);
    Answer(one, &wanted);
    Expect(said, wanted);
    wanted_ = Wanted(false, nullptr);
  }

  void Goodbye(int t, One *one) {
    if (Draw(3) != 0) return;
    if (Draw(4) == 0) {  // it gives up behind its last step
      trainers_.Lost(t);
      one->gone = one->told = true;
      return;
    }
    Trainers::Sayings said;
    ASSERT_TRUE(trainers_.Goodbye(t, &said).ok());
    one->left = one->gone = true;
    Expect(said, {{one->connection, Trainers::Saying::kEnd, 0, 0, {}}});
  }

  void Look() {
    passed_ = Passed();
    looked_ = now_;
    const Trainers::Late late = trainers_.CheckTimes(now_);
    int wanted = -1;
    std::vector<int> missing;
    for (size_t t = 0; t < all_.size(); ++t) {
      One &one = all_[t];
      if (!one.joined) missing.push_back(int(t));
      if (!one.joined || one.gone || one.connection != 0 || passed_ - one.lost <= options_.grace)
        continue;
      if (one.finished)
        one.gone = true;
      else if (wanted < 0)
        wanted = int(t);
    }
    const bool never = wanted < 0 && !missing.empty() && passed_ > options_.join_deadline;
    EXPECT_EQ(late.trainer, never ? missing.front() : wanted);
    EXPECT_EQ(late.never_came, never);
    if (never) {
      EXPECT_EQ(late.missing, missing);
    }
    late_ = late.trainer >= 0;
    EXPECT_EQ(trainers_.IsOver(false), std::all_of(all_.begin(), all_.end(), [](const One &one) {
                return one.gone;
              }));
  }

  bool Wanted(bool ended, bool *reached) const {
    const bool at_cut = keeps_ && std::any_of(all_.begin(), all_.end(), [this](const One &one) {
                          return *std::min_element(one.next.begin(), one.next.end()) >= cut_;
                        });
    if (reached != nullptr) *reached = at_cut;
    return save_asked_ || (at_cut && !ended);
  }

  void Save() {
    const bool ended = Draw(8) == 0;
    bool reached = false, also = false;
    const bool wants = trainers_.WantsSave(ended, &reached);
    ASSERT_EQ(wants, Wanted(ended, &also));
    ASSERT_EQ(reached, also);
    if (!wants || !keeps_) return;
    ++saves_;
    trainers_.BeginSave();
    save_asked_ = false;
    wanted_ = Wanted(false, nullptr);
    std::vector<std::vector<uint64_t>> safe;
    std::vector<bool> answered;
    for (const One &one : all_) {
      safe.push_back(one.next);
      answered.push_back(one.asks && one.under_way.empty());
    }
    // Meanwhile the job goes on.
    for (int t = 0; t < int(all_.size()); ++t) {
      One &one = all_[size_t(t)];
      if (Draw(2) == 0) Push(t, &one);
      if (Draw(2) == 0) Take(t, &one);
      if (Draw(6) == 0) Close(one);
      if (Draw(6) == 0) Join(t, &one);
    }
    if (reached) cut_ += 1 + Draw(3);
    Trainers::Sayings said, wanted;
    trainers_.EndSave(cut_, &said);
    for (size_t t = 0; t < all_.size(); ++t) {
      One &one = all_[t];
      if (one.connection == 0) continue;
      wanted.push_back({one.connection, Trainers::Saying::kSafe, 0, 0, safe[t]});
      if (!answered[t]) continue;
      one.asks = false;
      wanted.push_back({one.connection, Trainers::Saying::kFinished, 0, 0, {}});
    }
    Expect(said, wanted);
    wanted_ = Wanted(false, nullptr);
  }

  // The server fails: whoever is connected is told, and the others are waited for, who may come.
  void End() {
    std::vector<Trainers::Connection> connected;
    for (const One &one : all_)
      if (one.connection != 0) connected.push_back(one.connection);
    EXPECT_EQ(trainers_.Fail(), connected);
    for (const Trainers::Connection connection : connected) {
      EXPECT_FALSE(trainers_.IsOver(true));
      trainers_.Closed(connection, now_);
    }
    bool over = true;
    for (size_t t = 0; t < all_.size(); ++t) {
      const One &one = all_[t];
      if (one.gone || one.told || one.connection != 0) continue;
      over = false;  // it is away, or still to come, and may come for the error
    }
    EXPECT_EQ(trainers_.IsOver(true), over);
    for (size_t t = 0; t < all_.size(); ++t) {
      if (all_[t].connection != 0) continue;
      trainers_.Tell(int(t), ++connections_);
      EXPECT_FALSE(trainers_.IsOver(true));
      trainers_.Closed(connections_, now_);
    }
    EXPECT_TRUE(trainers_.IsOver(true));
  }

  std::mt19937_64 random_;
  const size_t blocks_;
  const bool keeps_;
  const Trainers::Options options_;
  uint64_t cut_;
  Time now_, looked_, passed_ = 0;
  Trainers trainers_;
  std::vector<One> all_;
  std::optional<uint64_t> digest_;
  Trainers::Connection connections_ = 0;
  bool save_asked_ = false, wanted_ = false, late_ = false;
  int saves_ = 0;
};

TEST(Trainers, HearAndAreHeldToWhatHappened) {
  int late = 0, saves = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ServerHistory history(seed);
    history.Run();
    late += history.late();
    saves += history.saves();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(late, 500);
  EXPECT_GT(saves, 500);
}

TEST(Trainers, MustFinishBeforeTheyLeave) {
  Trainers trainers({.trainers = 1, .blocks = 1, .tick = kTick}, 0, 0);
  Trainers::Sayings said;
  trainers.Join(0, 1, 1, 1, &said);
  EXPECT_EQ(trainers.Goodbye(0, &said).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(said.empty());
}

}  // namespace
}  // namespace commsched::runtime::core
