// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of problems that say what may be otherwise in a run: costs that it hides, ops that lose time to it or run
// elsewhere, nodes that do not wait for each other. No such run is below them.

#include "passes/schedule/solver/Order.h"
#include "tests/cases.h"
#include "tests/passes/schedule/BoundCases.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <utility>

namespace commsched::schedule {
namespace {

/// The problem with parts of what its messages cost avoidable, and of what its ops take shared, or avoidable too.
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
      stage.avoidableUpdate = static_cast<Time>(random() % (static_cast<uint64_t>(stage.update) + 1));
    }
  for (Op &op : problem.ops)
    if (op.duration > 0) {
      op.shared = random() % op.duration;
      if (random() % 2)
        op.avoidable = random() % (op.duration - op.shared + 1);
    }
  return problem;
}

/// A run in which any part of what is avoidable does not happen, and any ops of a stream lose
/// what it shares.
Problem inARun(Problem problem, std::mt19937 &random, bool allOverhead) {
  std::map<std::pair<unsigned, size_t>, std::pair<unsigned, unsigned>> drawn;
  std::vector<Time> shared(problem.streams);
  for (Op &op : problem.ops) {
    shared[op.stream] += op.shared;
    op.duration -= op.shared + static_cast<Time>(random() % (static_cast<uint64_t>(op.avoidable) + 1));
    op.shared = op.avoidable = 0;
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
      stage.update -= static_cast<Time>(random() % (static_cast<uint64_t>(stage.avoidableUpdate) + 1));
      stage.avoidableOverhead = stage.avoidableLatency = stage.avoidableBytes = stage.avoidableUpdate = 0;
    }
  return problem;
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
TEST(BoundOfRunsTest, IsNeverAboveTheBest) {
  constexpr unsigned kCount = 300;
  double reached = 0;
  compareWithSearch(
      kCount,
      [](uint32_t seed, std::mt19937 &random) {
        Problem problem = withAvoidable(randomProblem(seed, {.streams = 1 + seed % 2,
                                                             .links = 1 + seed / 2 % 2,
                                                             .maxLatency = 2,
                                                             .maxOverhead = 2,
                                                             .maxBytes = 2,
                                                             .maxCommunications = 3,
                                                             .maxOps = 5}),
                                        random, /*allOverhead=*/true);
        return ProblemAndRun(problem, inARun(problem, random, /*allOverhead=*/true));
      },
      [&](const Problem &problem, const ExhaustiveResult &best, std::mt19937 &) {
        double bound = boundOf(problem);
        expectBelow(problem, bound, periodOf(best));
        reached += bound / periodOf(best);
      });
  EXPECT_GT(reached / kCount, 0.75);
  RecordProperty("reached", std::to_string(reached / kCount));
}

/// Nanoseconds that must pass in a step of nodes that are not in step, counted for each stream and link by itself, and how much less
/// a bound may say, as whole bytes and nanoseconds are left out of each stage.
std::pair<double, double> leastOfNodesApart(const Problem &problem, int64_t steps) {
  double most = 0, slack = 0;
  for (unsigned stream = 0; stream < problem.streams; ++stream) {
    Time sum = 0;
    for (const Op &op : problem.ops)
      sum += op.stream == stream ? op.duration - op.shared - op.avoidable : 0;
    most = std::max(most, static_cast<double>(sum));
  }
  for (unsigned link = 0; link < problem.links.size(); ++link) {
    const double perByte = 1e9 / static_cast<double>(problem.links[link].bytesPerSecond);
    double sum = 0;
    std::map<unsigned, bool> kinds;
    for (const Communication &communication : problem.communications) {
      const bool isFirst = kinds.emplace(communication.kind, true).second;
      for (const Stage &stage : communication.stages) {
        if (stage.link != link)
          continue;
        sum += static_cast<double>(stage.bytes - stage.avoidableBytes) * perByte;
        sum += isFirst ? static_cast<double>(stage.overhead - stage.avoidableOverhead) : 0;
        slack += perByte + 1;
      }
    }
    most = std::max(most, sum / static_cast<double>(steps));
  }
  return {most, steps > 1 ? slack : 0};
}

/// The same problem of which all that is avoidable, or shared, is gone.
Problem withNothingAvoidable(Problem problem) {
  for (Op &op : problem.ops)
    op.duration -= std::exchange(op.shared, 0) + std::exchange(op.avoidable, 0);
  for (Communication &communication : problem.communications)
    for (Stage &stage : communication.stages) {
      stage.overhead -= std::exchange(stage.avoidableOverhead, 0);
      stage.latency -= std::exchange(stage.avoidableLatency, 0);
      stage.bytes -= std::exchange(stage.avoidableBytes, 0);
      stage.update -= std::exchange(stage.avoidableUpdate, 0);
    }
  return problem;
}

// The same with schedules of messages, of which a part of the overhead is avoidable.
TEST(BoundOfRunsTest, IsNeverAboveASchedule) {
  Cases cases = casesOf(1000);
  unsigned lower = 0;
  for (uint32_t seed = uint32_t(cases.first); seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    Problem problem = withAvoidable(randomProblem(seed, {.streams = 1 + seed % 3,
                                                         .links = 1 + seed / 2 % 3,
                                                         .maxLatency = 5,
                                                         .maxOverhead = 4,
                                                         .maxUpdate = 6 * Time(seed % 2),
                                                         .maxBytes = 20,
                                                         .maxCommunications = 6,
                                                         .maxOps = 8}),
                                    random, /*allOverhead=*/false);
    double bound = boundOf(problem);
    lower += bound < boundOf(asGiven(problem));
    // Nor lower than it need be: it is that of the same problem without what is avoidable.
    ASSERT_GE(bound, leastOfNodesApart(problem, 1).first - kRounding) << "seed " << seed;
    std::vector<Time> compute(problem.streams); // which loses what is shared, wherever
    for (const Op &op : problem.ops)
      compute[op.stream] += op.duration - op.avoidable;
    const auto busiest = static_cast<double>(*std::max_element(compute.begin(), compute.end()));
    ASSERT_NEAR(bound, std::max(busiest, boundOf(withNothingAvoidable(problem))), kRounding) << "seed " << seed;
    // Of what is sent whole all of the update follows, but for what is avoidable.
    Problem whole = problem;
    for (Communication &communication : whole.communications)
      communication.divisible = false;
    ASSERT_NEAR(boundOf(whole), std::max(busiest, boundOf(withNothingAvoidable(whole))), kRounding) << "seed " << seed;
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
TEST(BoundOfRunsTest, IsNeverAboveARunOfNodesApart) {
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
    const auto [least, slack] = leastOfNodesApart(problem, steps);
    ASSERT_LE(bound, least + kRounding) << "seed " << seed;
    ASSERT_GE(bound, least - slack - kRounding) << "seed " << seed;
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
TEST(BoundOfRunsTest, HoldsWhereverDeferredOpsRun) {
  constexpr unsigned kCount = 300;
  unsigned wouldBeWrong = 0;
  double reached = 0;
  compareWithSearch(
      kCount,
      [](uint32_t seed, std::mt19937 &random) {
        return withSomeDeferred(randomProblem(seed, {.streams = 1 + seed % 2,
                                                     .links = 1 + seed / 2 % 2,
                                                     .maxLatency = 1,
                                                     .maxBytes = 2,
                                                     .maxCommunications = 3,
                                                     .maxOps = 6}),
                                random);
      },
      [&](const Problem &problem, const ExhaustiveResult &best, std::mt19937 &random) {
        double bound = boundOf(problem), period = periodOf(best);
        expectBelow(problem, bound, period);
        ASSERT_NEAR(bound, boundOfOrder(problem, elsewhere(problem, random)).period, kRounding);
        reached += bound / period;
        wouldBeWrong += boundOf(asGiven(problem)) > period + kRounding;
      });
  EXPECT_GT(wouldBeWrong, 10u);
  EXPECT_GT(reached / kCount, 0.75);
  RecordProperty("reached", std::to_string(reached / kCount));
}

// The same of schedules of larger problems, as they are judged.
TEST(BoundOfRunsTest, HoldsForSchedulesWhereverDeferredOpsRun) {
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

} // namespace
} // namespace commsched::schedule
