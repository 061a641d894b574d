// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds against exhaustive search and against schedules.

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Relaxation.h"
#include "passes/schedule/solver/Schedule.h"
#include "passes/schedule/solver/baselines/Baselines.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Exhaustive.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomLayers.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <optional>
#include <random>

namespace commsched::schedule {
namespace {

constexpr double kRounding = 1e-9;

double boundOf(const Problem &problem) {
  return boundOfOrder(problem, programOrder(problem)).period;
}

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
  unsigned compared = 0;
  for (uint64_t seed = 0; compared < 3000; ++seed) {
    Problem problem = randomProblem(seed, {.maxCommunications = 3, .maxOps = 5});
    ExhaustiveResult best = exhaustive(problem, 13, false, 150);
    if (!best.finished)
      continue;
    ++compared;
    Relaxation relaxation = relax(problem, programOrder(problem), 13);
    for (size_t step = 0; step < relaxation.starts.size() && step < 13; ++step)
      ASSERT_EQ(relaxation.starts[step], best.starts[step])
          << "seed " << seed << " step " << step;
    // Transients are short in these.
    ASSERT_NEAR(boundOf(problem), (best.starts[12] - best.starts[6]) / 6.0, kRounding)
        << "seed " << seed;
  }
}

// With several streams, links and stages, and latency: never above it.
TEST(BoundTest, IsNeverAboveTheBest) {
  unsigned compared = 0;
  double reached = 0;
  for (uint64_t seed = 0; compared < 300; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 2),
                                           .links = 1 + unsigned(seed / 2 % 2),
                                           .maxLatency = 2,
                                           .maxBytes = 2,
                                           .maxCommunications = 3});
    ExhaustiveResult best = exhaustive(problem, 13, false, 150);
    if (!best.finished)
      continue;
    ++compared;
    double period = (best.starts[12] - best.starts[6]) / 6.0;
    Relaxation relaxation = relax(problem, programOrder(problem), 13);
    for (size_t step = 0; step < relaxation.starts.size() && step < 13; ++step)
      ASSERT_LE(relaxation.starts[step], best.starts[step])
          << "seed " << seed << " step " << step;
    double bound = boundOf(problem);
    ASSERT_LE(bound, period + kRounding) << "seed " << seed;
    ASSERT_LE(boundOfAnyOrder(problem).period, bound + kRounding) << "seed " << seed;
    reached += bound / period;
  }
  EXPECT_GT(reached / compared, 0.9);
  RecordProperty("reached", std::to_string(reached / compared));
}

TEST(BoundTest, OfAnyOrderIsNeverAboveTheBest) {
  unsigned compared = 0;
  for (uint64_t seed = 0; compared < 200; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 2),
                                           .links = 1 + unsigned(seed / 2 % 2),
                                           .maxLatency = 1,
                                           .maxBytes = 2,
                                           .maxCommunications = 3,
                                           .maxOps = 4});
    ExhaustiveResult best = exhaustive(problem, 13, true, 150);
    if (!best.finished)
      continue;
    ++compared;
    ASSERT_LE(boundOfAnyOrder(problem).period,
              (best.starts[12] - best.starts[6]) / 6.0 + kRounding)
        << "seed " << seed;
  }
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

/// The problem with parts of what its messages cost avoidable, and of what its ops take shared.
Problem withAvoidable(Problem problem, std::mt19937 &random, bool allOverhead) {
  std::map<std::pair<unsigned, size_t>, std::pair<unsigned, unsigned>> drawn; // alike in a kind
  for (Communication &communication : problem.communications)
    for (size_t i = 0; i < communication.stages.size(); ++i) {
      Stage &stage = communication.stages[i];
      auto [known, isNew] = drawn.try_emplace({communication.kind, i});
      if (isNew)
        known->second = {random(), random()};
      stage.avoidableOverhead =
          allOverhead ? stage.overhead : known->second.first % (stage.overhead + 1);
      stage.avoidableLatency = known->second.second % (stage.latency + 1);
      if (!allOverhead)
        stage.avoidableBytes = static_cast<int64_t>(random() % (static_cast<uint64_t>(stage.bytes) + 1));
    }
  for (Op &op : problem.ops)
    if (op.duration > 0)
      op.shared = random() % op.duration;
  return problem;
}

/// A run in which any part of what is avoidable does not happen, and any ops of a stream lose
/// what it shares.
Problem inARun(Problem problem, std::mt19937 &random, bool allOverhead) {
  std::map<std::pair<unsigned, size_t>, std::pair<unsigned, unsigned>> drawn;
  std::vector<Time> shared(problem.streams);
  for (Op &op : problem.ops) {
    shared[op.stream] += op.shared;
    op.duration -= op.shared;
    op.shared = 0;
  }
  for (unsigned stream = 0; stream < problem.streams; ++stream) {
    std::vector<Op *> ops;
    for (Op &op : problem.ops)
      if (op.stream == stream)
        ops.push_back(&op);
    while (shared[stream] > 0) {
      Time part = 1 + static_cast<Time>(random() % shared[stream]);
      ops[random() % ops.size()]->duration += part;
      shared[stream] -= part;
    }
  }
  for (Communication &communication : problem.communications)
    for (size_t i = 0; i < communication.stages.size(); ++i) {
      Stage &stage = communication.stages[i];
      auto [known, isNew] = drawn.try_emplace({communication.kind, i});
      if (isNew)
        known->second = {random(), random()};
      stage.overhead -= allOverhead ? stage.avoidableOverhead
                                    : known->second.first % (stage.avoidableOverhead + 1);
      stage.latency -= known->second.second % (stage.avoidableLatency + 1);
      stage.bytes -= static_cast<int64_t>(random() % (static_cast<uint64_t>(stage.avoidableBytes) + 1));
      stage.avoidableOverhead = stage.avoidableLatency = stage.avoidableBytes = 0;
    }
  return problem;
}

/// Of the best schedule that the search finds, by its later steps; none: there are too many.
std::optional<double> bestPeriodOf(const Problem &run) {
  ExhaustiveResult best = exhaustive(run, 13, false, 150);
  if (!best.finished)
    return std::nullopt;
  return (best.starts[12] - best.starts[6]) / 6.0;
}

/// No run of the problem is below its bound, that of any order is below that, and it is below the
/// one of what schedules are judged by.
void expectBelow(const Problem &problem, double bound, double period) {
  ASSERT_LE(bound, period + kRounding);
  ASSERT_LE(boundOfAnyOrder(problem).period, bound + kRounding);
  ASSERT_LE(bound, boundOf(asGiven(problem)) + kRounding);
}

// Whatever a run hides of what messages cost, and whichever ops lose time to it: the search, over
// all schedules of that run, is never below the bound.
TEST(BoundTest, IsNeverAboveTheBestOfAnyRun) {
  unsigned compared = 0;
  double reached = 0;
  for (uint32_t seed = 0; compared < 300; ++seed) {
    std::mt19937 random(seed);
    Problem problem = withAvoidable(randomProblem(seed, {.streams = 1 + seed % 2,
                                                         .links = 1 + seed / 2 % 2,
                                                         .maxLatency = 2,
                                                         .maxOverhead = 2,
                                                         .maxBytes = 2,
                                                         .maxCommunications = 3,
                                                         .maxOps = 5}),
                                    random, /*allOverhead=*/true);
    ASSERT_EQ(check(problem), std::nullopt) << "seed " << seed;
    std::optional<double> period = bestPeriodOf(inARun(problem, random, true));
    if (!period)
      continue;
    ++compared;
    double bound = boundOf(problem);
    ASSERT_NO_FATAL_FAILURE(expectBelow(problem, bound, *period)) << "seed " << seed;
    reached += bound / *period;
  }
  EXPECT_GT(reached / compared, 0.75);
  RecordProperty("reached", std::to_string(reached / compared));
}

// The same with schedules of messages, of which a part of the overhead is avoidable.
TEST(BoundTest, IsNeverAboveAScheduleInAnyRun) {
  Cases cases = casesOf(1000);
  unsigned lower = 0;
  for (uint32_t seed = uint32_t(cases.first); seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    Problem problem = withAvoidable(randomProblem(seed, {.streams = 1 + seed % 3,
                                                         .links = 1 + seed / 2 % 3,
                                                         .maxLatency = 5,
                                                         .maxOverhead = 4,
                                                         .maxBytes = 20,
                                                         .maxCommunications = 6,
                                                         .maxOps = 8}),
                                    random, /*allOverhead=*/false);
    double bound = boundOf(problem);
    lower += bound < boundOf(asGiven(problem));
    for (int64_t slice : {1, 3, 20}) {
      Problem run = inARun(problem, random, /*allOverhead=*/false);
      ASSERT_EQ(check(run), std::nullopt) << "seed " << seed;
      Evaluation evaluation = evaluate(run, randomSchedule(run, seed, slice));
      if (evaluation.settled) {
        ASSERT_LE(bound, evaluation.period + kRounding) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(lower, cases.count() / 2);
}

/// A run in which nodes do not wait for each other: of `steps` steps only the last sends, and nothing waits for what it sends.
Problem apart(const Problem &problem, unsigned steps) {
  Problem run = problem;
  run.ops.clear();
  const auto count = static_cast<unsigned>(problem.ops.size());
  for (unsigned step = 0; step < steps; ++step)
    for (Op op : problem.ops) {
      for (unsigned &before : op.after)
        before += step * count;
      run.ops.push_back(std::move(op));
    }
  for (Communication &communication : run.communications) {
    communication.consumers.clear();
    for (unsigned &producer : communication.producers)
      producer += (steps - 1) * count;
  }
  return run;
}

// Of nodes that are not in step bounds are of totals: as much compute in each step, and of what is sent a part.
TEST(BoundTest, IsNeverAboveARunOfNodesApart) {
  Cases cases = casesOf(1000);
  unsigned less = 0, near = 0;
  for (uint32_t seed = uint32_t(cases.first); seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    Problem problem = withAvoidable(randomProblem(seed, {.streams = 1 + seed % 2,
                                                         .links = 1 + seed / 2 % 2,
                                                         .maxLatency = 5,
                                                         .maxOverhead = 4,
                                                         .maxBytes = 40,
                                                         .maxCommunications = 6,
                                                         .maxOps = 6}),
                                    random, /*allOverhead=*/false);
    const unsigned steps = 1 + seed % 5;
    problem.stepsApart = steps;
    ASSERT_EQ(check(problem), std::nullopt) << "seed " << seed;
    const double bound = boundOf(problem);
    ASSERT_EQ(bound, boundOfAnyOrder(problem).period) << "seed " << seed;
    // Schedules are judged as if nodes were in step.
    ASSERT_EQ(boundOf(asGiven(problem)), boundOf([&] {
                Problem together = asGiven(problem);
                together.stepsApart.reset();
                return together;
              }()))
        << "seed " << seed;
    less += bound < boundOf(asGiven(problem));
    Problem run = apart(inARun(problem, random, /*allOverhead=*/false), steps);
    run.stepsApart.reset();
    ASSERT_EQ(check(run), std::nullopt) << "seed " << seed;
    for (int64_t slice : {1, 40}) {
      Evaluation evaluation = evaluate(run, randomSchedule(run, seed, slice));
      if (!evaluation.settled)
        continue;
      ASSERT_LE(bound, evaluation.period / steps + kRounding) << "seed " << seed;
      near += bound > 0.5 * evaluation.period / steps;
    }
  }
  EXPECT_GT(less, cases.count() / 2);
  EXPECT_GT(near, cases.count() / 2);
}

/// An order in which deferred ops are anywhere else, if the dependences allow it.
std::vector<std::vector<unsigned>> elsewhere(const Problem &problem, std::mt19937 &random) {
  std::vector<std::vector<unsigned>> order = programOrder(problem);
  for (int moves = 0; moves < 8; ++moves) {
    std::vector<std::vector<unsigned>> moved = order;
    std::vector<unsigned> &ops = moved[random() % moved.size()];
    if (ops.empty())
      continue;
    size_t from = random() % ops.size(), to = random() % ops.size();
    unsigned op = ops[from];
    if (!problem.ops[op].deferred)
      continue;
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(from));
    ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(to), op);
    if (computeTimes(problem, moved).valid)
      order = moved;
  }
  return order;
}

/// Some behind each other, some behind communication; the first one is not.
Problem withSomeDeferred(Problem problem, std::mt19937 &random) {
  for (size_t i = 1; i < problem.ops.size(); ++i)
    problem.ops[i].deferred = random() % 2 == 0;
  return problem;
}

// Wherever a run does what is deferred: the search over all schedules of that run is never below the
// bound, which does not depend on it. A bound that holds deferred ops to their place is too high.
TEST(BoundTest, HoldsWhereverDeferredOpsRun) {
  unsigned compared = 0, wouldBeWrong = 0;
  double reached = 0;
  for (uint32_t seed = 0; compared < 300; ++seed) {
    std::mt19937 random(seed);
    Problem problem = withSomeDeferred(randomProblem(seed, {.streams = 1 + seed % 2,
                                                            .links = 1 + seed / 2 % 2,
                                                            .maxLatency = 1,
                                                            .maxBytes = 2,
                                                            .maxCommunications = 3,
                                                            .maxOps = 6}),
                                       random);
    ASSERT_EQ(check(problem), std::nullopt) << "seed " << seed;
    std::optional<double> period = bestPeriodOf(problem);
    if (!period)
      continue;
    ++compared;
    double bound = boundOf(problem);
    ASSERT_NO_FATAL_FAILURE(expectBelow(problem, bound, *period)) << "seed " << seed;
    ASSERT_NEAR(bound, boundOfOrder(problem, elsewhere(problem, random)).period, kRounding) << "seed " << seed;
    reached += bound / *period;
    wouldBeWrong += boundOf(asGiven(problem)) > *period + kRounding;
  }
  EXPECT_GT(wouldBeWrong, 10u);
  EXPECT_GT(reached / compared, 0.75);
  RecordProperty("reached", std::to_string(reached / compared));
}

// The same of schedules of larger problems, as they are judged.
TEST(BoundTest, HoldsForSchedulesWhereverDeferredOpsRun) {
  Cases cases = casesOf(1000);
  unsigned wouldBeWrong = 0;
  for (uint32_t seed = uint32_t(cases.first); seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    Problem problem = withSomeDeferred(randomProblem(seed, {.streams = 1 + seed % 3,
                                                            .links = 1 + seed / 2 % 3,
                                                            .maxLatency = 5,
                                                            .maxOverhead = 4,
                                                            .maxBytes = 20,
                                                            .maxCommunications = 6,
                                                            .maxOps = 10}),
                                       random);
    double bound = boundOf(problem);
    for (int64_t slice : {1, 3, 20}) {
      Schedule schedule = randomSchedule(problem, seed, slice);
      schedule.order = elsewhere(problem, random);
      Evaluation evaluation = evaluate(problem, schedule);
      if (!evaluation.settled)
        continue;
      ASSERT_LE(bound, evaluation.period + kRounding) << "seed " << seed;
      wouldBeWrong += boundOf(asGiven(problem)) > evaluation.period + kRounding;
    }
  }
  EXPECT_GT(wouldBeWrong, 0u);
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
