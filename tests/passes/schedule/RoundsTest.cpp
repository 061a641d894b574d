// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Rounds.h"

#include "passes/schedule/solver/Bound.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gtest/gtest.h"

#include <random>

namespace commsched::schedule {
namespace {

/// A byte in a nanosecond, to two peers; both halves of an all-reduce, 2 and 1 rounds of 30 bytes.
Problem twoTensors() {
  Problem problem;
  problem.links = {{"l", 1'000'000'000, true}};
  problem.links.front().peers = 2;
  problem.ops = {{"a", 0, 10, {}, 0}, {"b", 0, 5, {0}, 0}};
  for (unsigned op : {0u, 1u})
    problem.communications.push_back(
        {"t", 30, {op}, {{0, 1}}, {{0, 30, 4, 6}, {0, 30, 4, 6}}, true, 0, 0});
  return problem;
}

Schedule inTurn(const Problem &problem, std::vector<int64_t> priorities) {
  Schedule schedule;
  schedule.order = programOrder(problem);
  for (unsigned i = 0; i < problem.communications.size(); ++i)
    schedule.messages.push_back({{{i, 0, problem.communications[i].bytes}},
                                 {priorities[i], priorities[i]}});
  schedule.credit.assign(problem.links.size(), kNoLimit);
  return schedule;
}

TEST(RoundsTest, IsTheEvaluatorWithOnePeer) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 2, .links = 2, .maxLatency = 3, .maxOverhead = 2});
    Schedule schedule = randomSchedule(problem, seed, 1 + seed % 4);
    if (verify(problem, schedule))
      continue;
    Rounds rounds(problem);
    EXPECT_FALSE(rounds.any());
    EXPECT_EQ(rounds.evaluate(schedule).period, evaluate(problem, schedule).period) << seed;
  }
}

// By hand, rounds of 20 and 10 bytes, then 10 and 20, each with an overhead of 2 and a latency of 3.
TEST(RoundsTest, PeersShareTheLink) {
  Problem problem = twoTensors();
  problem.communications.resize(1);
  problem.ops.pop_back();
  // 10 + (22 + 3) + (12 + 3) + (12 + 3) + (22 + 3), as in order.
  Schedule alone = inTurn(problem, {0});
  EXPECT_EQ(evaluate(problem, alone).period, 90);
  EXPECT_EQ(Rounds(problem).evaluate(alone).period, 90);
  // Two of them at once. The first round to the far peer is one's, 10 to 32, then the other's, beside
  // which the first one's two rounds to the near peer go from 35 on: 24 of 31 more for each half.
  problem = twoTensors();
  problem.ops = {{"a", 0, 10, {}, 0}};
  problem.communications[1].producers = {0};
  double period = Rounds(problem).evaluate(inTurn(problem, {0, 1})).period;
  // All of it is 136, and pauses can only be where the last round waits for the latency of those before.
  EXPECT_GE(period, 10 + 136 + 3);
  EXPECT_LE(period, 10 + 136 + 4 * 3);
}

// With nothing on the way but bytes, the link never rests: what is sent at once takes as long as all of it.
TEST(RoundsTest, SharingLosesNothing) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Problem problem;
    problem.links = {{"l", 1'000'000'000, seed % 5 == 0}};
    problem.links.front().peers = 2 + seed % 4;
    problem.ops = {{"a", 0, 100, {}, 0}};
    Schedule schedule;
    schedule.order = {{0}};
    schedule.credit = {seed % 2 ? kNoLimit : static_cast<int64_t>(1 + random() % 4000)};
    Time work = problem.ops.front().duration;
    double rounds = 0;
    for (unsigned i = 0; i < 1 + seed % 6; ++i) {
      auto bytes = static_cast<int64_t>(1 + random() % 2'000'000);
      Stage half{0, bytes, static_cast<Time>(random() % 1000), 0};
      problem.communications.push_back({"t", bytes, {0}, {{0, 1}}, {half, half}, true, 0, 0});
      schedule.messages.push_back(
          {{{i, 0, bytes}}, {static_cast<int64_t>(random() % 3), static_cast<int64_t>(random() % 3)}});
      work += 2 * (half.bytes + half.overhead);
      rounds += 2 * problem.links.front().peers;
    }
    ASSERT_EQ(verify(problem, schedule), std::nullopt) << seed;
    double period = Rounds(problem).evaluate(schedule).period;
    EXPECT_GE(period, static_cast<double>(work)) << seed;
    // What is left is rounded whenever another peer is begun with, or done with: not by a packet.
    EXPECT_LE(period, static_cast<double>(work) + 1000 + 100 * rounds) << seed;
  }
}

TEST(RoundsTest, IsNeverBelowTheBound) {
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 2), .links = 1 + unsigned(seed / 2 % 2), .maxLatency = 8, .maxOverhead = 4, .maxBytes = 60});
    for (Link &link : problem.links)
      link.peers = 1 + seed % 4;
    // Behind the last byte there is the latency of the last round only.
    for (Communication &communication : problem.communications)
      for (Stage &stage : communication.stages)
        stage.avoidableLatency = stage.latency - stage.latency / problem.links[stage.link].peers;
    Schedule schedule = randomSchedule(problem, seed, 1 + seed % 4);
    if (verify(problem, schedule))
      continue;
    Evaluation evaluation = Rounds(problem).evaluate(schedule);
    if (!evaluation.settled)
      continue;
    EXPECT_GE(evaluation.period * (1 + 1e-9), boundOfOrder(problem, schedule.order).period) << seed;
    ++compared;
  }
  EXPECT_GT(compared, 500u);
}

} // namespace
} // namespace commsched::schedule
