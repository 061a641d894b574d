// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Connections.h"

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Timeline.h"
#include "plan/packets.h"
#include "tests/cases.h"
#include "tests/passes/schedule/ConnectionsReference.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

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

TEST(ConnectionsTest, IsTheEvaluatorWithOneConnection) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 2, .links = 2, .maxLatency = 3, .maxOverhead = 2});
    Schedule schedule = randomSchedule(problem, seed, 1 + seed % 4);
    if (verify(problem, schedule))
      continue;
    Connections connections(problem);
    EXPECT_FALSE(connections.any());
    EXPECT_EQ(connections.evaluate(schedule).period, evaluate(problem, schedule).period) << seed;
  }
}

// By hand, rounds of 20 and 10 bytes, then 10 and 20, each with an overhead of 2 and a latency of 3.
TEST(ConnectionsTest, PeersShareTheLink) {
  Problem problem = twoTensors();
  problem.communications.resize(1);
  problem.ops.pop_back();
  // 10 + (22 + 3) + (12 + 3) + (12 + 3) + (22 + 3), as in order.
  Schedule alone = inTurn(problem, {0});
  EXPECT_EQ(evaluate(problem, alone).period, 90);
  EXPECT_EQ(Connections(problem).evaluate(alone).period, 90);
  // Two of them at once. The first round to the far peer is one's, 10 to 32, then the other's, beside
  // which the first one's two rounds to the near peer go from 35 on: 24 of 31 more for each half.
  problem = twoTensors();
  problem.ops = {{"a", 0, 10, {}, 0}};
  problem.communications[1].producers = {0};
  double period = Connections(problem).evaluate(inTurn(problem, {0, 1})).period;
  // All of it is 136, and pauses can only be where the last round waits for the latency of those before.
  EXPECT_GE(period, 10 + 136 + 3);
  EXPECT_LE(period, 10 + 136 + 4 * 3);
}

/// A byte in a nanosecond, two rounds around a ring, packets of `packet` bytes.
Problem aroundRing(int64_t packet) {
  Problem problem = twoTensors();
  Link &link = problem.links.front();
  link.peers = 1;
  link.rounds = 2;
  link.packetBytes = packet;
  for (Communication &communication : problem.communications)
    for (Stage &stage : communication.stages)
      stage.overhead = stage.latency = 0;
  return problem;
}

// By hand: 40 bytes, two rounds of 20 for each half, from 10 on; 4 bytes that are more urgent, two of 2, from 15 on, go in front of
// the packets of 10 bytes that begin at 20 (2 + 8), 30 (2 + 2), 34 (2 + 8) and 44 (2 + 8); then 4 are left of the first half, to 58, and two
// rounds of 20 follow.
TEST(ConnectionsTest, UrgentRoundsGoBetweenPackets) {
  Problem problem = aroundRing(10);
  const int64_t bytes[] = {40, 4};
  for (unsigned i = 0; i < 2; ++i) {
    problem.communications[i].bytes = bytes[i];
    for (Stage &stage : problem.communications[i].stages)
      stage.bytes = bytes[i];
  }
  EXPECT_EQ(evaluate(problem, inTurn(problem, {1, 0})).period, 98);
  // The urgent one alone.
  problem.communications[0].consumers.clear();
  problem.communications.erase(problem.communications.begin());
  EXPECT_EQ(evaluate(problem, inTurn(problem, {0})).period, 15 + 8);
}

// By hand, as above. The urgent one begins its four rounds of 2 bytes at 20; exclusive, it is alone until 28, and what is left of the other,
// 30 and 40 bytes, follows, to 98. With a latency of 3 in each round these take 5 each, in which the link waits, and all ends at 110.
TEST(ConnectionsTest, ExclusiveRoundsGoAlone) {
  for (auto [latency, urgent, all] : {std::tuple{0, 28, 98}, {3, 40, 110}}) {
    Problem problem = aroundRing(10);
    const int64_t bytes[] = {40, 4};
    for (unsigned i = 0; i < 2; ++i) {
      problem.communications[i].bytes = bytes[i];
      for (Stage &stage : problem.communications[i].stages)
        stage = {0, bytes[i], 0, i == 1 ? 2 * latency : 0};
    }
    Schedule schedule = inTurn(problem, {1, 0});
    schedule.messages[1].exclusive = 100;
    EXPECT_EQ(evaluate(problem, schedule).period, all) << latency;
    Timeline timeline = traceSchedule(problem, schedule, 1, 4);
    Time there = 0;
    for (const Timeline::Transfer &transfer : timeline.transfers)
      if (transfer.message == 1)
        there = std::max(there, transfer.arrived);
    EXPECT_EQ(there % all, urgent) << latency; // in its step
  }
}

// By hand: a message of two pieces of 20 bytes, four rounds of 20 from 15 on, of which the last one brings the first piece with its first 10
// bytes: at 85, and the second one at 95, when b begins; or, in packets of 16 bytes, with the first of them, at 91.
TEST(ConnectionsTest, PiecesComeWithPacketsOfTheLastRound) {
  for (auto [packet, period] : {std::pair{10, 85}, {16, 91}, {64, 95}}) {
    Problem problem = aroundRing(packet);
    for (unsigned i = 0; i < 2; ++i) {
      Communication &own = problem.communications[i];
      own.bytes = 20;
      own.tail = 10;
      own.consumers = {{i, 1}};
      for (Stage &stage : own.stages)
        stage.bytes = 20;
    }
    Schedule schedule = inTurn(problem, {0, 0});
    schedule.messages = {{{{0, 0, 20}, {1, 0, 20}}, {0, 0}}};
    EXPECT_EQ(evaluate(problem, schedule).period, period) << packet;
  }
}

// With nothing on the way but bytes, the link never rests: what is sent at once takes as long as all of it.
TEST(ConnectionsTest, SharingLosesNothing) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Problem problem;
    problem.links = {{"l", 1'000'000'000, seed % 5 == 0}};
    unsigned &count = seed % 3 ? problem.links.front().peers : problem.links.front().rounds;
    count = 2 + seed % 4;
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
      rounds += 2 * count;
    }
    ASSERT_EQ(verify(problem, schedule), std::nullopt) << seed;
    double period = Connections(problem).evaluate(schedule).period;
    EXPECT_GE(period, static_cast<double>(work)) << seed;
    // What is left is rounded whenever another peer is begun with, or done with: not by a packet.
    EXPECT_LE(period, static_cast<double>(work) + 1000 + 100 * rounds) << seed;
  }
}

TEST(ConnectionsTest, IsNeverBelowTheBound) {
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 2), .links = 1 + unsigned(seed / 2 % 2), .maxLatency = 8, .maxOverhead = 4, .maxBytes = 60, .connections = seed % 3 == 0});
    for (Link &link : problem.links) {
      link.byConnection = seed % 3 == 0;
      (seed % 2 ? link.peers : link.rounds) = link.byConnection ? 1 : 1 + seed % 4;
    }
    // Behind the last byte there is the latency of the last round only.
    for (Communication &communication : problem.communications)
      for (Stage &stage : communication.stages)
        stage.avoidableLatency = stage.latency - stage.latency / std::max(problem.links[stage.link].peers, problem.links[stage.link].rounds);
    Schedule schedule = randomSchedule(problem, seed, 1 + seed % 4);
    if (verify(problem, schedule))
      continue;
    Evaluation evaluation = Connections(problem).evaluate(schedule);
    if (!evaluation.settled)
      continue;
    EXPECT_GE(evaluation.period * (1 + 1e-9), boundOfOrder(problem, schedule.order).period) << seed;
    ++compared;
  }
  EXPECT_GT(compared, 500u);
}

/// Random steps of megabytes and milliseconds, on links of a byte in a nanosecond: what is rounded is a nanosecond each
/// time that a peer is begun with or done with.
struct Drawn {
  Problem problem;
  Schedule schedule;
};
/// Messages with half of those of their kind, of which none is for its own step.
void fuse(const Problem &problem, Schedule &schedule, std::mt19937_64 &random) {
  std::vector<Message> fused;
  std::map<unsigned, size_t> last; // by kind
  for (Message &message : schedule.messages) {
    auto [own, isNew] = last.try_emplace(problem.communications[message.pieces.front().communication].kind, fused.size());
    if (!isNew && random() % 2) {
      std::vector<Piece> &pieces = fused[own->second].pieces;
      pieces.insert(pieces.end(), message.pieces.begin(), message.pieces.end());
      continue;
    }
    own->second = fused.size();
    fused.push_back(std::move(message));
  }
  schedule.messages = std::move(fused);
}

std::optional<Drawn> draw(uint64_t seed, bool servers) {
  // Rounds have whole parts of them: what ends at the same moment does so in both.
  constexpr int64_t kParts = 5040, kMany = 200 * kParts;
  std::mt19937_64 random(seed);
  auto large = [&](int64_t number) {
    return number == 0 ? 0 : number * kMany + kParts * static_cast<int64_t>(random() % 100);
  };
  const bool isLong = !servers && seed % 5 < 2; // asked for, and in slices
  const bool tails = seed % 3 == 1;
  Drawn d;
  d.problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 2), .links = 1 + unsigned(seed / 2 % 2), .maxLatency = 2, .maxOverhead = 1, .maxUpdate = seed % 3 ? 0 : 2, .maxBytes = 6, .maxCommunications = 4, .maxOps = 5, .connections = servers});
  for (Link &link : d.problem.links) {
    link.byConnection = servers;
    link.peers = link.byConnection ? 1 : 1 + unsigned(random() % 4);
    if (!link.byConnection && random() % 2)
      link.rounds = std::exchange(link.peers, 1);
    link.creditUntilSent = random() % 2;
    link.onceBytes = random() % 2 ? kMany : 0;
    if (random() % 2) {
      link.packetBytes = static_cast<int64_t>(1 + random() % (4 * plan::kLargePacket));
      link.aheadBytes = static_cast<int64_t>(random() % (2 * plan::kLargePacket));
    }
  }
  if (isLong && d.problem.links.size() == 2) { // whole on the second one
    d.problem.links[0].rounds = std::max(std::exchange(d.problem.links[0].peers, 1), d.problem.links[0].rounds);
    d.problem.links[1].peers = d.problem.links[1].rounds = 1;
    d.problem.links[1].packetBytes = d.problem.links[1].aheadBytes = 0;
  }
  for (Op &op : d.problem.ops)
    op.duration = large(op.duration);
  // Communications of one kind have the same costs for a message.
  std::map<std::pair<unsigned, size_t>, std::pair<Time, Time>> costs;
  std::map<unsigned, bool> halves; // of one all-reduce: on one link
  for (Communication &communication : d.problem.communications) {
    communication.bytes = large(communication.bytes) * (isLong ? 3 : 1);
    for (size_t i = 0; i < communication.stages.size(); ++i) {
      Stage &stage = communication.stages[i];
      stage.bytes = communication.bytes;
      stage.update = large(stage.update);
      auto [known, isNew] = costs.try_emplace({communication.kind, i});
      if (isNew)
        known->second = {large(stage.overhead) / 42, large(stage.latency) / 14};
      std::tie(stage.overhead, stage.latency) = known->second;
      stage.avoidableOverhead = stage.avoidableLatency = 0;
    }
    if (auto [half, isNew] = halves.try_emplace(communication.kind); isNew)
      half->second = random() % 2;
    if (communication.stages.size() == 2 && halves[communication.kind])
      communication.stages[1].link = communication.stages[0].link;
    if (tails) {
      communication.tail = communication.stages.back().bytes;
      for (Consumer &consumer : communication.consumers)
        consumer.distance = 1;
    }
  }
  d.schedule = randomSchedule(d.problem, seed, (isLong ? 16 : 1 + static_cast<int64_t>(seed % 4)) * kMany);
  if (tails)
    fuse(d.problem, d.schedule, random);
  for (Message &message : d.schedule.messages)
    if (!servers && seed % 2 && random() % 2)
      message.exclusive = static_cast<Time>(1 + random() % (random() % 2 ? kMany : 4 * kMany));
  for (int64_t &credit : d.schedule.credit)
    credit = random() % 3 ? static_cast<int64_t>(1 + random() % (8 * kMany)) : kNoLimit;
  d.schedule.barrier = false;
  if (check(d.problem) || verify(d.problem, d.schedule))
    return std::nullopt;
  return d;
}

/// How far the first of so many steps, and the mean of the later half, are from the reference; of what ends.
std::optional<double> distance(const Drawn &d, const ConnectionFaults &faults) {
  constexpr unsigned kSteps = 12;
  Evaluation evaluation = Connections(d.problem).evaluate(d.schedule);
  std::vector<double> ends = endsByConnections(d.problem, d.schedule, kSteps, plan::kLargePacket, plan::kSocketBytes, faults);
  if (ends.size() < kSteps)
    return std::nullopt;
  double first = std::abs(ends.front() - static_cast<double>(evaluation.firstStep));
  const auto ofLast = [&](unsigned steps) {
    return std::abs((ends[kSteps - 1] - ends[kSteps - 1 - steps]) / steps - evaluation.period);
  };
  if (!evaluation.settled)
    return std::max(first, ofLast(kSteps - 1 - (kSteps - 1) / 2));
  // Steps that repeat may do so by several.
  double period = ofLast(1);
  for (unsigned steps = 2; steps < kSteps; ++steps)
    period = std::min(period, ofLast(steps));
  return std::max(first, period);
}

/// By rounds with peers, and to servers.
class ReferenceOfConnections : public testing::TestWithParam<bool> {};

TEST_P(ReferenceOfConnections, IsTheSame) {
  unsigned compared = 0, several = 0;
  Cases cases = casesOf(1200);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    std::optional<Drawn> d = draw(seed, GetParam());
    if (!d || !Connections(d->problem).any())
      continue;
    std::optional<double> far = distance(*d, {});
    ASSERT_TRUE(far) << seed;
    // Nanoseconds, of milliseconds.
    EXPECT_LE(*far, 2000) << seed;
    ++compared;
    several += d->problem.communications.size() > 1;
  }
  EXPECT_GT(compared, cases.count() / 4);
  EXPECT_GT(several, cases.count() / 8);
}

TEST_P(ReferenceOfConnections, TellsFaults) {
  unsigned compared = 0;
  std::vector<ConnectionFaults> faults = {{.wholeRate = true}, {.overtakesAtOnce = true}};
  if (GetParam())
    faults.insert(faults.end(), {{.oneConnection = true}, {.pushesOvertaken = true}, {.fullPackets = true}, {.messagesAlone = true}});
  else
    faults.insert(faults.end(), {{.peersInOrder = true}, {.equalRounds = true}, {.wholeCredit = true}, {.creditUntilThere = true}, {.roundsInOne = true}, {.oneSlice = true}, {.slicesAlone = true}, {.neverAsked = true}, {.neverOnce = true}, {.latencyOfEachRound = true}, {.piecesWithMessage = true}, {.fullPackets = true}, {.messagesAlone = true}, {.neverExclusive = true}, {.endlessPatience = true}, {.oncePatient = true}});
  std::vector<unsigned> found(faults.size());
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::optional<Drawn> d = draw(seed, GetParam());
    if (!d || !Connections(d->problem).any())
      continue;
    ++compared;
    for (size_t i = 0; i < found.size(); ++i)
      found[i] += distance(*d, faults[i]).value_or(1e9) > 2000;
  }
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_GT(found[i], 3u) << "fault " << i << " of " << compared;
}

INSTANTIATE_TEST_SUITE_P(Connections, ReferenceOfConnections, testing::Bool(),
                         [](const auto &of) { return of.param ? "ToServers" : "ToPeers"; });

} // namespace
} // namespace commsched::schedule
