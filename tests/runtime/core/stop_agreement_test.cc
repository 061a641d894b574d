// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are asked to stop, in any order, while messages between them take any time:
// all end with the same step.
#include "runtime/core/stop_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

class StoppingJob {
 public:
  explicit StoppingJob(uint64_t seed)
      : random_(seed), steps_(random_() % 30), asks_(random_() % 3) {
    const int nodes = 1 + int(random_() % 20);
    for (int r = 0; r < nodes; ++r) ranks_.emplace_back(r, nodes);
    ahead_ = 1 + random_() % 5;
  }

  void Run() {
    for (uint64_t moves = 0; !AllEnded(); ++moves) {
      ASSERT_LT(moves, 1'000'000u) << "it does not end";
      Move();
    }
    for (const Rank &rank : ranks_) EXPECT_EQ(rank.begun, ranks_[0].begun);
    EXPECT_LE(ranks_[0].begun, steps_);
    if (!asked_) {
      EXPECT_EQ(ranks_[0].begun, steps_);
    }
    // No step begins that none had begun when it was decided.
    if (decided_) {
      EXPECT_EQ(ranks_[0].begun, *decided_);
    }
  }
  bool early() const { return ranks_[0].begun < steps_; }

 private:
  struct Rank {
    Rank(int rank, int nodes) : machine(rank, nodes) {}
    StopAgreement machine;
    uint64_t begun = 0;
    bool ended = false;
  };
  bool AllEnded() const {
    for (const Rank &rank : ranks_)
      if (!rank.ended) return false;
    return true;
  }
  void Post(int from, const StopAgreement::Messages &messages) {
    const auto neighbours = StopAgreement::Neighbours(from, int(ranks_.size()));
    for (const auto &message : messages) {
      ASSERT_EQ(neighbours.count(message.peer), 1u);
      // As its receives are posted.
      const auto kinds = StopAgreement::KindsFrom(from, message.peer);
      ASSERT_NE(std::find(kinds.begin(), kinds.end(), message.kind), kinds.end());
      ASSERT_TRUE(sent_.insert({from, message.peer, message.kind}).second) << "said twice";
      if (message.kind == StopAgreement::kStop && message.step < kGone && !decided_) {
        decided_ = 0;
        for (const Rank &rank : ranks_) decided_ = std::max(*decided_, rank.begun);
      }
      wires_[{from, message.peer}].push_back(message);
    }
  }
  void Move() {
    const size_t r = random_() % ranks_.size();
    Rank &rank = ranks_[r];
    StopAgreement::Messages out;
    if (random_() % 200 == 0 && asks_ != 0 && !rank.ended) {
      --asks_;
      asked_ = true;
      rank.machine.Ask(&out);
      return Post(int(r), out);
    }
    if (random_() % 2 == 0) {
      // A message comes; those of one rank come in their order. Of a rank that has ended the
      // end comes last.
      std::vector<std::pair<int, int>> wires;
      for (const auto &[wire, messages] : wires_)
        if (wire.second == int(r) && !messages.empty()) wires.push_back(wire);
      if (wires.empty() || rank.ended) return;
      const auto wire = wires[random_() % wires.size()];
      StopAgreement::Message message = wires_[wire].front();
      wires_[wire].pop_front();
      message.peer = wire.first;
      if (message.step == kGone)
        rank.machine.Gone(wire.first, &out);
      else
        rank.machine.Take(message, &out);
      return Post(int(r), out);
    }
    if (rank.ended) return;
    // Steps need the others, so that nobody is far ahead.
    for (const Rank &other : ranks_)
      if (other.begun + ahead_ <= rank.begun) return;
    StopAgreement::Turn turn = StopAgreement::Turn::kStop;
    if (rank.begun < steps_) turn = rank.machine.Begin(rank.begun);
    if (turn == StopAgreement::Turn::kBegin) ++rank.begun;
    if (turn != StopAgreement::Turn::kStop) return;
    rank.ended = true;
    for (const int peer : StopAgreement::Neighbours(int(r), int(ranks_.size())))
      wires_[{int(r), peer}].push_back({peer, StopAgreement::kAsk, kGone});
  }

  static constexpr uint64_t kGone = StopAgreement::kNever - 1;
  std::mt19937_64 random_;
  const uint64_t steps_;
  uint64_t asks_, ahead_ = 1;
  bool asked_ = false;
  std::optional<uint64_t> decided_;  // steps that were begun then
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::deque<StopAgreement::Message>> wires_;
  std::set<std::tuple<int, int, uint32_t>> sent_;
};

TEST(StopAgreement, AllEndWithTheSameStep) {
  int early = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    StoppingJob job(seed);
    job.Run();
    early += job.early();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(early, 500);
}

TEST(StopAgreement, ARankTalksWithAtMostThreeOthers) {
  for (int nodes : {1, 2, 3, 7, 100, 1000})
    for (int rank = 0; rank < nodes; ++rank) {
      const std::set<int> peers = StopAgreement::Neighbours(rank, nodes);
      EXPECT_LE(peers.size(), 3u);
      EXPECT_EQ(peers.empty(), nodes == 1);
      for (const int peer : peers)
        EXPECT_EQ(StopAgreement::Neighbours(peer, nodes).count(rank), 1u);
    }
}

}  // namespace
}  // namespace commsched::runtime::core
