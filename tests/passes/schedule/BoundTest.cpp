// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds against exhaustive search and against schedules (BoundOfRunsTest.cpp: of what a run may make of a problem).

#include "passes/schedule/solver/Relaxation.h"
#include "passes/schedule/solver/baselines/Baselines.h"
#include "tests/cases.h"
#include "tests/passes/schedule/BoundCases.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomLayers.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace commsched::schedule {
namespace {

TEST(BoundTest, IsReachedByThreeLayers) {
  EXPECT_EQ(boundOf(layers(1, 1, {2, 2, 2})), 8);
  // Bytes are pulled while others are pushed: a slot less than in slices of one.
  EXPECT_EQ(boundOf(layers(2, 2, {3, 6, 3}, 2)), 17);
  EXPECT_EQ(boundOf(layers(2, 2, {3, 6, 3}, 1)), 17);
}

TEST(BoundTest, SaysWhatItComesFrom) {
  Problem unordered = layers(4, 4, {1, 1});
  for (Op &op : unordered.ops)
    op.after.clear();
  EXPECT_EQ(boundOfAnyOrder(unordered).why, "compute");
  EXPECT_EQ(boundOfAnyOrder(layers(1, 1, {9, 9})).why, "link link0");
  EXPECT_EQ(boundOfOrder(layers(1, 1, {2, 2, 2}, 1), {{0, 1, 2, 3, 4, 5}}).why,
            "the chain through layer0");
  Problem three = layers(2, 2, {3, 6, 3});
  EXPECT_EQ(boundOfOrder(three, programOrder(three)).why, "order: waits for layer0");
  Bound chain = boundOfAnyOrder(layers(1, 1, {2, 2, 2}));
  EXPECT_EQ(chain.period, 8);
  EXPECT_THAT(chain.why, testing::HasSubstr("the chain through layer0"));
}

TEST(BoundTest, CountsTheOverheadAndLatencyThatNoMessageCanAvoid) {
  Problem problem = layers(5, 5, {4}, 2);
  for (Stage &stage : problem.communications[0].stages)
    stage.overhead = 3, stage.latency = 5;
  // In one message; two would take 3 * 3 + 4 + 2 on the links.
  EXPECT_EQ(boundOf(problem), 10 + 2 * (3 + 4 + 5));
  EXPECT_EQ(boundOfAnyOrder(problem).period, 10 + 2 * (3 + 4 + 5));
}

// One stream and one link: the bound is what the best schedule reaches, in every
// step and in the long run.
TEST(BoundTest, IsExactForOneStreamAndLink) {
  compareWithSearch(
      3000, [](uint32_t seed, std::mt19937 &) { return randomProblem(seed, {.maxCommunications = 3, .maxOps = 5}); },
      [](const Problem &problem, const ExhaustiveResult &best, std::mt19937 &) {
        Relaxation relaxation = relax(problem, programOrder(problem), 13);
        for (size_t step = 0; step < relaxation.starts.size() && step < 13; ++step)
          ASSERT_EQ(relaxation.starts[step], best.starts[step]) << "step " << step;
        ASSERT_NEAR(boundOf(problem), periodOf(best), kRounding);
      });
}

// With several streams, links and stages, and latency: never above it.
TEST(BoundTest, IsNeverAboveTheBest) {
  constexpr unsigned kCount = 300;
  double reached = 0;
  compareWithSearch(
      kCount,
      [](uint32_t seed, std::mt19937 &) {
        return randomProblem(seed, {.streams = 1 + seed % 2,
                                    .links = 1 + seed / 2 % 2,
                                    .maxLatency = 2,
                                    .maxBytes = 2,
                                    .maxCommunications = 3});
      },
      [&](const Problem &problem, const ExhaustiveResult &best, std::mt19937 &) {
        Relaxation relaxation = relax(problem, programOrder(problem), 13);
        for (size_t step = 0; step < relaxation.starts.size() && step < 13; ++step)
          ASSERT_LE(relaxation.starts[step], best.starts[step]) << "step " << step;
        double bound = boundOf(problem);
        ASSERT_LE(bound, periodOf(best) + kRounding);
        ASSERT_LE(boundOfAnyOrder(problem).period, bound + kRounding);
        reached += bound / periodOf(best);
      });
  EXPECT_GT(reached / kCount, 0.9);
  RecordProperty("reached", std::to_string(reached / kCount));
}

TEST(BoundTest, OfAnyOrderIsNeverAboveTheBest) {
  compareWithSearch(
      200,
      [](uint32_t seed, std::mt19937 &) {
        return randomProblem(seed, {.streams = 1 + seed % 2,
                                    .links = 1 + seed / 2 % 2,
                                    .maxLatency = 1,
                                    .maxBytes = 2,
                                    .maxCommunications = 3,
                                    .maxOps = 4});
      },
      [](const Problem &problem, const ExhaustiveResult &best, std::mt19937 &) {
        ASSERT_LE(boundOfAnyOrder(problem).period, periodOf(best) + kRounding);
      },
      /*anyOrder=*/true);
}

// Schedules with messages of any cost, of one tensor or several.
TEST(BoundTest, IsNeverAboveASchedule) {
  Cases cases = casesOf(1000);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 3),
                                           .links = 1 + unsigned(seed / 2 % 3),
                                           .maxLatency = 5,
                                           .maxOverhead = 4,
                                           .maxUpdate = seed % 4 ? 0 : 9,
                                           .maxBytes = 20,
                                           .maxCommunications = 6,
                                           .maxOps = 8});
    ASSERT_EQ(check(problem), std::nullopt) << "seed " << seed;
    double bound = boundOf(problem);
    ASSERT_LE(boundOfAnyOrder(problem).period, bound + kRounding) << "seed " << seed;
    Problem packets = problem;
    for (int64_t slice : {1, 3, 20}) {
      Schedule schedule = randomSchedule(problem, seed, slice);
      ASSERT_EQ(verify(problem, schedule), std::nullopt) << "seed " << seed;
      Evaluation evaluation = evaluate(problem, schedule);
      if (evaluation.settled) {
        ASSERT_LE(bound, evaluation.period + kRounding) << "seed " << seed;
      }
      // Where urgent messages overtake others, too.
      for (Link &link : packets.links)
        link.packetBytes = 1 + seed % 2;
      for (bool all : {false, true}) {
        if (all)
          schedule.credit.assign(problem.links.size(), kNoLimit);
        Evaluation overtaken = evaluate(packets, schedule);
        if (overtaken.settled) {
          ASSERT_LE(bound, overtaken.period + kRounding) << "seed " << seed;
        }
      }
    }
  }
}

// Tensors that must not be divided, several kinds and stages on one link, costs of
// messages that matter, and the schedules of all policies.
TEST(BoundTest, IsNeverAboveAPolicy) {
  unsigned compared = 0;
  Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomLayers(seed);
    for (Communication &communication : problem.communications) {
      communication.divisible &= seed % 5 != 0;
      for (Stage &stage : communication.stages) {
        stage.overhead *= 1 + seed % 4;
        stage.update = seed % 3 ? 0 : communication.bytes * (1 + seed % 7) / 2;
      }
    }
    ASSERT_EQ(check(problem), std::nullopt) << "seed " << seed;
    double bound = boundOf(problem);
    View view(problem, programOrder(problem));
    for (const Baseline &baseline : baselines()) {
      Evaluation evaluation = evaluate(problem, baseline.make(view));
      if (!evaluation.settled)
        continue;
      ASSERT_LE(bound, evaluation.period + kRounding)
          << "seed " << seed << " " << baseline.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 8 * cases.count());
}

// Bandwidths that do not divide anything, and too few steps to repeat.
TEST(BoundTest, HoldsWithoutRepetition) {
  Problem problem = layers(1000, 1000, {1000, 3000, 2000});
  problem.links[0].bytesPerSecond = 777'777'777;
  std::vector<std::vector<unsigned>> order = programOrder(problem);
  Relaxation few = relax(problem, order, 2), many = relax(problem, order, 256);
  EXPECT_FALSE(few.settled);
  EXPECT_TRUE(many.settled);
  EXPECT_LE(few.period, many.period);
  EXPECT_GT(few.period, 0);
}

} // namespace
} // namespace commsched::schedule
