// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The published policies make the schedules that their papers describe.

#include "passes/schedule/solver/baselines/Baselines.h"
#include "passes/schedule/solver/Fusion.h"
#include "passes/schedule/solver/Partition.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomLayers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

namespace commsched::schedule {
namespace {

using testing::ElementsAre;

constexpr int64_t kMiB = 1 << 20;

// By message: the bytes of it, and what it consists of.
std::vector<int64_t> sizes(const Schedule &schedule) {
  std::vector<int64_t> result;
  for (const Message &message : schedule.messages) {
    int64_t bytes = 0;
    for (const Piece &piece : message.pieces)
      bytes += piece.end - piece.begin;
    result.push_back(bytes);
  }
  return result;
}

std::vector<std::vector<unsigned>> members(const Schedule &schedule) {
  std::vector<std::vector<unsigned>> result;
  for (const Message &message : schedule.messages) {
    result.emplace_back();
    for (const Piece &piece : message.pieces)
      result.back().push_back(piece.communication);
  }
  return result;
}

TEST(BaselinesTest, AreValid) {
  Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomLayers(seed);
    ASSERT_EQ(check(problem), std::nullopt) << seed;
    View view(problem, programOrder(problem));
    for (const Baseline &baseline : baselines()) {
      Schedule schedule = baseline.make(view);
      EXPECT_EQ(verify(problem, schedule), std::nullopt)
          << seed << " " << baseline.name;
      EXPECT_EQ(schedule.name, baseline.name);
      EXPECT_GT(evaluate(problem, schedule).period, -1) << baseline.name;
    }
  }
}

// 26 slots first come, first served; 18 by order of use in slices of one.
TEST(BaselinesTest, ThreeLayersPushedAndPulled) {
  Problem problem = layers(2, 2, {3, 6, 3}, 2);
  View view(problem, programOrder(problem));
  EXPECT_EQ(evaluate(problem, fifo(view)).period, 26);
  EXPECT_EQ(evaluate(problem, byteScheduler(view, 1, 1)).period, 18);
}

TEST(BaselinesTest, BucketsCloseAtTheirLimit) {
  // Released last to first. The first bucket closes at 1 MiB, those after it at
  // 25 MiB, each by the tensor that reaches it.
  Problem problem =
      layers(1, 1, {kMiB, 24 * kMiB, 30 * kMiB, 10 * kMiB, 10 * kMiB, kMiB / 2, kMiB / 2});
  View view(problem, programOrder(problem));
  Schedule schedule = fixedBuckets(view);
  EXPECT_THAT(members(schedule), ElementsAre(ElementsAre(6, 5), ElementsAre(4, 3, 2),
                                             ElementsAre(1, 0)));
  EXPECT_TRUE(schedule.barrier);
}

TEST(BaselinesTest, MessagesKeepToTheirLimit) {
  Problem problem =
      layers(1, 1, {kMiB, 24 * kMiB, 30 * kMiB, 10 * kMiB, 10 * kMiB, kMiB / 2, kMiB / 2});
  View view(problem, programOrder(problem));
  // Less than 25 MiB, filled from layer 0 on.
  EXPECT_THAT(members(dear(view)), ElementsAre(ElementsAre(6, 5, 4, 3), ElementsAre(2),
                                               ElementsAre(1), ElementsAre(0)));
  EXPECT_FALSE(dear(view).barrier);
  // At most 30 MiB, filled from layer 6 on.
  EXPECT_THAT(members(latencyHiding(view)),
              ElementsAre(ElementsAre(6, 5, 4, 3), ElementsAre(2), ElementsAre(1, 0)));
  EXPECT_TRUE(latencyHiding(view).barrier);
}

TEST(FusionTest, MessagesAreFilledFromOneEnd) {
  Problem problem = layers(1, 1, {4, 3, 4, 2}); // released last to first: 2, 4, 3, 4
  View view(problem, programOrder(problem));
  const std::vector<unsigned> &kind = view.kinds.front();
  EXPECT_THAT(fuseUpTo(view, kind, 7), ElementsAre(0, 2));
  EXPECT_THAT(fuseUpTo(view, kind, 7, /*fromLast=*/true), ElementsAre(0, 2));
  EXPECT_THAT(fuseUpTo(view, kind, 6), ElementsAre(0, 2, 3));
  EXPECT_THAT(fuseUpTo(view, kind, 6, /*fromLast=*/true), ElementsAre(0, 2, 3));
  EXPECT_THAT(fuseUpTo(view, kind, 9), ElementsAre(0, 3));
  EXPECT_THAT(fuseUpTo(view, kind, 9, /*fromLast=*/true), ElementsAre(0, 2));
  EXPECT_THAT(fuseUpTo(view, kind, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(fuseUpTo(view, kind, 13, /*fromLast=*/true), ElementsAre(0));
  EXPECT_THAT(fuseUpTo(view, {}, 1), ElementsAre());
  EXPECT_THAT(fuseUpTo(view, {}, 1, /*fromLast=*/true), ElementsAre());
}

TEST(BaselinesTest, P3SendsSlicesOfFiftyThousandParameters) {
  Problem problem = layers(1, 1, {450'000, 200'000, 4});
  View view(problem, programOrder(problem));
  Schedule schedule = p3(view);
  EXPECT_THAT(sizes(schedule), ElementsAre(4, 200'000, 200'000, 200'000, 50'000));
  std::vector<int64_t> priorities;
  for (const Message &message : schedule.messages)
    priorities.push_back(message.priorities.front());
  EXPECT_THAT(priorities, ElementsAre(8, 7, 6, 6, 6));
  EXPECT_EQ(schedule.credit.front(), 1);
}

TEST(BaselinesTest, DearGathersInOrderOfUse) {
  // Reduce-scatter and all-gather on the same link.
  Problem problem = layers(1, 1, {30 * kMiB, 30 * kMiB});
  for (Communication &communication : problem.communications)
    communication.stages.push_back(communication.stages.front());
  View view(problem, programOrder(problem));
  Schedule schedule = dear(view);
  ASSERT_EQ(schedule.messages.size(), 2u);
  EXPECT_THAT(schedule.messages[0].priorities, ElementsAre(2, 5));
  EXPECT_THAT(schedule.messages[1].priorities, ElementsAre(3, 4));
}

TEST(BaselinesTest, ListSchedulingDoesNotSeeTheNextStep) {
  Problem problem = layers(1, 1, {30 * kMiB, 30 * kMiB, 30 * kMiB});
  problem.communications[1].consumers = {{5, 0}};
  View view(problem, programOrder(problem));
  Schedule schedule = latencyHiding(view);
  ASSERT_EQ(schedule.messages.size(), 3u);
  EXPECT_THAT(schedule.messages[1].priorities, ElementsAre(5));
  EXPECT_THAT(schedule.messages[0].priorities, ElementsAre(6 + 3));
  EXPECT_THAT(schedule.messages[2].priorities, ElementsAre(6 + 5));
}

TEST(BaselinesTest, TensorsNeededInBetweenDoNotShareAMessage) {
  // Layer 2's tensor is needed by the op that produces layer 1's.
  Problem problem = layers(1, 1, {1, 1, 1});
  problem.communications[2].consumers = {{4, 0}};
  View view(problem, programOrder(problem));
  EXPECT_THAT(members(fixedBuckets(view)),
              ElementsAre(ElementsAre(2), ElementsAre(1, 0)));
}

// The best of all divisions into consecutive messages.
double exhaustive(const FusionCosts &costs) {
  double best = 1e300;
  for (uint32_t cuts = 0; cuts < 1u << (costs.ready.size() - 1); ++cuts) {
    Division division = {0};
    for (unsigned i = 1; i < costs.ready.size(); ++i)
      if (cuts >> (i - 1) & 1)
        division.push_back(i);
    best = std::min(best, finish(costs, division));
  }
  return best;
}

TEST(FusionTest, RecursionIsExactAndGreedyIsNot) {
  std::mt19937 generator(1);
  unsigned behind = 0;
  double worst = 1;
  for (unsigned i = 0; i < 2000; ++i) {
    FusionCosts costs;
    costs.perMessage = 1 + generator() % 20;
    double ready = 0;
    for (unsigned layer = 0; layer < 8; ++layer) {
      ready += generator() % 10;
      costs.ready.push_back(ready);
      costs.transfer.push_back(generator() % 12);
    }
    double best = exhaustive(costs);
    ASSERT_EQ(finish(costs, fuseExactly(costs, 1e300)), best) << i;
    double greedy = finish(costs, fuseGreedily(costs));
    ASSERT_GE(greedy, best) << i;
    behind += greedy > best;
    worst = std::max(worst, greedy / best);
  }
  // Its paper claims that the greedy merging is optimal.
  EXPECT_GT(behind, 100u);
  EXPECT_GT(worst, 1.05);
}

TEST(FusionTest, GreedyMergingIsNotOptimal) {
  // Ready at 0, 3 and 6; a message costs 4; the first tensor needs 6, the others
  // nothing. Greedy: the second joins the first (3 - 0 < 4), and
  // so does the third (6 - 3 < 4): 6 + 4 + 6. Alone, the first is through at 10, and
  // the others at 14.
  FusionCosts costs;
  costs.ready = {0, 3, 6};
  costs.transfer = {6, 0, 0};
  costs.perMessage = 4;
  EXPECT_THAT(fuseGreedily(costs), ElementsAre(0));
  EXPECT_EQ(finish(costs, fuseGreedily(costs)), 16);
  EXPECT_THAT(fuseExactly(costs, 1e300), ElementsAre(0, 1));
  EXPECT_EQ(finish(costs, {0, 1}), 14);
}

TEST(FusionTest, KeepsToTheLargestMessage) {
  FusionCosts costs;
  costs.ready = {0, 0, 0, 0, 0};
  costs.transfer = {2, 2, 2, 9, 2};
  costs.perMessage = 1;
  EXPECT_THAT(fuseExactly(costs, 1e300), ElementsAre(0));
  EXPECT_EQ(finish(costs, fuseExactly(costs, 4)), 17 + 4);
}

TEST(PartitionTest, CutsAcrossTensors) {
  Problem problem = layers(1, 1, {10, 4, 7});
  problem.communications[1].divisible = false;
  View view(problem, programOrder(problem));
  Schedule schedule = emptySchedule(view, "");
  schedule.messages = cutFull(view, {2, 1, 0}, 5);
  EXPECT_THAT(sizes(schedule), ElementsAre(5, 6, 5, 5));
  schedule.messages = cutEvenly(view, {2, 0}, 6);
  EXPECT_THAT(sizes(schedule), ElementsAre(6, 6, 5));
  EXPECT_THAT(members(schedule),
              ElementsAre(ElementsAre(2), ElementsAre(2, 0), ElementsAre(0)));
}

} // namespace
} // namespace commsched::schedule
