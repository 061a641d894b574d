// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which messages become exclusive, and what that may change. What a step with them takes is ConnectionsTest's.

#include "passes/schedule/solver/Exclusive.h"

#include "passes/schedule/solver/Connections.h"
#include "tests/cases.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

namespace commsched::schedule {
namespace {

constexpr Time kMs = 1'000'000;

/// A step of layers around a ring at 1 Gbit/s: forward 0, 1, ..., backward ..., 1, 0, and a gradient of each layer, which its forward of the
/// next step needs. Messages of one to three layers, in an order that the seed says; small ones in front of large ones.
struct Layered {
  Problem problem;
  Schedule schedule;
};
enum class By {
  need,
  release,
  chance
};
Layered layered(uint64_t seed, By by) {
  std::mt19937_64 random(seed);
  Layered d;
  const auto layers = static_cast<unsigned>(4 + random() % 8);
  Link link{"ring", 125'000'000};
  link.rounds = 1 + static_cast<unsigned>(random() % 7);
  link.packetBytes = link.aheadBytes = 128 << 10;
  link.creditUntilSent = true;
  d.problem.links = {link};
  int64_t wire = 0;
  std::vector<int64_t> bytes;
  for (unsigned i = 0; i < layers; ++i) {
    bytes.push_back(4 * static_cast<int64_t>(i < 2 ? 1'000 + random() % 10'000 : 100'000 + random() % 1'000'000));
    wire += 2 * bytes.back() * 8;
  }
  // Communication takes half to twice as long as compute.
  const Time each = wire / layers * static_cast<Time>(5 + random() % 16) / 20;
  for (unsigned i = 0; i < 2 * layers; ++i)
    d.problem.ops.push_back({i < layers ? "forward" : "backward", 0, each * static_cast<Time>(i < layers ? 2 : 4) / 6, i ? std::vector<unsigned>{i - 1} : std::vector<unsigned>{}, 0});
  for (unsigned i = 0; i < layers; ++i) {
    const Stage half{0, bytes[i], 20'000, static_cast<Time>(100'000 * link.rounds)};
    d.problem.communications.push_back({"w" + std::to_string(i), bytes[i], {2 * layers - 1 - i}, {{i, 1}}, {half, half}, true, 0, 0});
  }
  d.schedule.name = "drawn";
  d.schedule.order = programOrder(d.problem);
  d.schedule.credit = {random() % 2 ? kNoLimit : static_cast<int64_t>(1 + random() % 1'000'000)};
  for (unsigned i = layers; i > 0;) {
    Message message;
    for (uint64_t count = 1 + random() % 3; count > 0 && i > 0; --count, --i)
      message.pieces.push_back({i - 1, 0, bytes[i - 1]});
    const auto released = static_cast<int64_t>(d.schedule.messages.size());
    const int64_t priority = by == By::need ? i : by == By::release ? released
                                                                    : static_cast<int64_t>(random() % 4);
    message.priorities = {priority, priority};
    d.schedule.messages.push_back(std::move(message));
  }
  return d;
}

/// Position of the first op that needs a part of it.
int64_t needOf(const Problem &problem, const Message &message) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const Piece &piece : message.pieces)
    for (const Consumer &consumer : problem.communications[piece.communication].consumers)
      first = std::min<int64_t>(first, consumer.op);
  return first;
}

class ExclusiveBy : public testing::TestWithParam<By> {};

TEST_P(ExclusiveBy, AreThoseThatAreNeededFirst) {
  const Cases cases = casesOf(300);
  unsigned any = 0;
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    const Layered d = layered(seed, GetParam());
    ASSERT_EQ(check(d.problem), std::nullopt) << seed;
    ASSERT_EQ(verify(d.problem, d.schedule), std::nullopt) << seed;
    const double before = evaluate(d.problem, d.schedule).period;
    const auto [after, period] = withExclusive(d.problem, d.schedule);
    ASSERT_EQ(verify(d.problem, after), std::nullopt) << seed;
    EXPECT_EQ(evaluate(d.problem, after).period, period) << seed;
    ASSERT_EQ(after.messages.size(), d.schedule.messages.size()) << seed;
    std::vector<const Message *> alone;
    int64_t others = std::numeric_limits<int64_t>::max(), urgency = others;
    for (size_t i = 0; i < after.messages.size(); ++i) {
      const Message &message = after.messages[i];
      EXPECT_EQ(message.pieces, d.schedule.messages[i].pieces) << seed;
      if (message.exclusive) {
        EXPECT_GE(message.exclusive, kMs) << seed;
        alone.push_back(&message);
        continue;
      }
      EXPECT_EQ(message, d.schedule.messages[i]) << seed;
      others = std::min(others, needOf(d.problem, message));
      urgency = std::min({urgency, message.priorities.front(), message.priorities.back()});
    }
    if (alone.empty()) {
      EXPECT_EQ(after, d.schedule) << seed;
      EXPECT_EQ(period, before) << seed;
      continue;
    }
    ++any;
    EXPECT_LT(period, before) << seed;
    std::sort(alone.begin(), alone.end(), [](const Message *a, const Message *b) { return a->priorities.front() > b->priorities.front(); });
    for (const Message *message : alone) {
      const int64_t need = needOf(d.problem, *message);
      EXPECT_LT(need, others) << seed;
      others = need;
      for (const int64_t priority : message->priorities) // of both halves
        EXPECT_LT(priority, urgency) << seed;
      urgency = message->priorities.front();
    }
  }
  EXPECT_GT(any, cases.count() / 20);
}

INSTANTIATE_TEST_SUITE_P(ExclusiveTest, ExclusiveBy, testing::Values(By::need, By::release, By::chance));

// Whoever is in front of it in the schedule's order: the last gradient is needed first, and is late.
TEST(ExclusiveTest, OrderOfTheScheduleDoesNotMatter) {
  const Cases cases = casesOf(300);
  double gained[2] = {0, 0};
  for (uint64_t seed = cases.first; seed < cases.end; ++seed)
    for (const By by : {By::need, By::release}) {
      const Layered d = layered(seed, by);
      const double before = evaluate(d.problem, d.schedule).period;
      gained[by == By::release] += (before - withExclusive(d.problem, d.schedule).second) / before;
    }
  EXPECT_GT(gained[0], 0);
  EXPECT_GT(gained[1], gained[0]);
}

// Nothing is exclusive on links without rounds.
TEST(ExclusiveTest, OnlyInRounds) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Layered d = layered(seed, By::need);
    d.problem.links.front().rounds = 1;
    d.problem.links.front().packetBytes = d.problem.links.front().aheadBytes = 0;
    EXPECT_EQ(withExclusive(d.problem, d.schedule).first, d.schedule) << seed;
  }
}

} // namespace
} // namespace commsched::schedule
