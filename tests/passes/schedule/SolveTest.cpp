// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The solver keeps what it promises.

#include "passes/schedule/solver/Solve.h"
#include "passes/schedule/solver/Search.h"
#include "passes/schedule/solver/baselines/Baselines.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomLayers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sstream>

namespace commsched::schedule {
namespace {

// Everything that a schedule says, as text.
std::string text(const Schedule &schedule) {
  std::ostringstream out;
  out << schedule.name << schedule.barrier;
  for (const std::vector<unsigned> &stream : schedule.order)
    for (unsigned op : stream)
      out << " " << op;
  for (int64_t credit : schedule.credit)
    out << " credit " << credit;
  for (const Message &message : schedule.messages) {
    out << "\n";
    for (const Piece &piece : message.pieces)
      out << " " << piece.communication << ":" << piece.begin << "-" << piece.end;
    for (int64_t priority : message.priorities)
      out << " @" << priority;
  }
  return out.str();
}

// What is kept beside the best has fewer messages the longer it takes, and nothing is kept that is not
// better than the best in that.
TEST(SolveTest, KeepsNearlyAsShortOnesWithFewerMessages) {
  Cases cases = casesOf(200);
  cases.end = std::max(cases.end, cases.first + 50); // for some that are kept
  unsigned kept = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = randomLayers(seed, {.maxBytes = 4000});
    SolverOptions options;
    options.effort = 20;
    Solution solution = solve(problem, options);
    double before = solution.evaluation.period * 1.005;
    size_t messages = 0;
    for (const Schedule &fewer : solution.fewer) {
      ASSERT_EQ(verify(problem, fewer), std::nullopt);
      EXPECT_EQ(fewer.order, solution.schedule.order);
      const double period = evaluate(problem, fewer).period;
      EXPECT_LE(period, before);
      EXPECT_GE(period, solution.evaluation.period);
      EXPECT_GT(fewer.messages.size(), messages);
      EXPECT_LT(fewer.messages.size(), solution.schedule.messages.size());
      before = std::nextafter(period, 0);
      messages = fewer.messages.size();
      ++kept;
    }
  }
  EXPECT_GT(kept, cases.count() / 20);
}

// Of two searches of a problem, the better schedule with its evaluation; what is not the best is kept where it has fewer messages,
// and what both have tried counts.
TEST(SolveTest, TakesTheBetterOfTwoSearches) {
  Cases cases = casesOf(200);
  cases.end = std::max(cases.end, cases.first + 100); // for some that are kept
  unsigned taken = 0, kept = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = randomLayers(seed, {.maxBytes = 4000});
    const View view(problem, programOrder(problem));
    Search one(problem, 0, 1'000'000), other(problem, 0, 1000);
    one.offerAsIs(baselines()[seed % baselines().size()].make(view));
    other.offerAsIs(baselines()[(seed / 7) % baselines().size()].make(view));
    const Schedule ours = one.best, theirs = other.best;
    const double before = one.bestPeriod, period = other.bestPeriod;
    const int64_t left = one.left - (1000 - other.left);
    one.take(std::move(other));
    EXPECT_EQ(one.left, left);
    EXPECT_EQ(one.evaluations, 2u);
    EXPECT_EQ(one.bestPeriod, std::min(before, period));
    EXPECT_EQ(one.evaluation.period, one.bestPeriod);
    EXPECT_EQ(one.best, period < before ? theirs : ours);
    taken += period < before;
    const Schedule &longer = period < before ? ours : theirs;
    const std::vector<Search::Kept> fewer = one.withFewerMessages(1.005);
    const bool isKept = longer.messages.size() < one.best.messages.size() && std::max(before, period) <= 1.005 * one.bestPeriod;
    ASSERT_EQ(fewer.size(), isKept);
    if (isKept) {
      EXPECT_EQ(fewer[0].schedule, longer);
      EXPECT_EQ(fewer[0].period, std::max(before, period));
      ++kept;
    }
  }
  EXPECT_GT(taken, cases.count() / 10);
  EXPECT_GT(kept, 0u);
}

TEST(SolveTest, IsValidAndBetweenBoundAndBaselines) {
  Cases cases = casesOf(300);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomLayers(seed);
    ASSERT_EQ(check(problem), std::nullopt) << seed;
    SolverOptions options;
    options.effort = 20;
    Solution solution = solve(problem, options);
    ASSERT_EQ(verify(problem, solution.schedule), std::nullopt) << seed;
    double period = evaluate(problem, solution.schedule).period;
    EXPECT_EQ(period, solution.evaluation.period) << seed;
    // Rounding of transfers to nanoseconds only makes messages longer.
    EXPECT_GE(period, solution.bound.period * (1 - 1e-9)) << seed;
    EXPECT_GE(period, solution.anyOrderBound.period * (1 - 1e-9)) << seed;
    View view(problem, programOrder(problem));
    for (const Baseline &baseline : baselines())
      EXPECT_LE(period, evaluate(problem, baseline.make(view)).period)
          << seed << " " << baseline.name;
    EXPECT_EQ(solution.baselines.size(), baselines().size());
  }
}

TEST(SolveTest, SameProblemSameSchedule) {
  Cases cases = casesOf(40);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomLayers(seed);
    SolverOptions options;
    options.effort = 20;
    Solution first = solve(problem, options);
    Problem copy = problem; // other addresses
    Solution second = solve(copy, options);
    EXPECT_EQ(text(first.schedule), text(second.schedule)) << seed;
    EXPECT_EQ(first.evaluations, second.evaluations) << seed;
  }
}

TEST(SolveTest, FindsThePeriodsOfTheUnitCases) {
  EXPECT_EQ(solve(layers(2, 2, {3, 6, 3}, 2)).evaluation.period, 18);
  EXPECT_EQ(solve(layers(1, 1, {2, 2, 2})).evaluation.period, 6 + 2);
}

// Messages that cost nothing are slices, those that cost much are shared.
TEST(SolveTest, FusesWhatIsExpensiveToSend) {
  Problem problem = layers(10, 10, {5, 5, 5, 5, 5, 5});
  for (Communication &communication : problem.communications)
    communication.stages.front().overhead = 40;
  // Six messages would take 270 of the 120 slots that compute takes.
  Solution solution = solve(problem);
  EXPECT_LE(solution.schedule.messages.size(), 3u);
  EXPECT_LT(solution.evaluation.period, 200);
}

// The gradient of the first layer is needed first: gradients of other layers'
// weights can be computed after it.
TEST(SolveTest, ReordersCompute) {
  Problem problem;
  problem.links.push_back({"link", 1'000'000'000});
  auto op = [&](std::vector<unsigned> after) {
    Op result;
    result.duration = 10;
    result.after = std::move(after);
    result.extraBytes = 1;
    problem.ops.push_back(result);
    return static_cast<unsigned>(problem.ops.size() - 1);
  };
  std::vector<unsigned> forward, weight(4);
  for (unsigned i = 0; i < 4; ++i)
    forward.push_back(op(i ? std::vector<unsigned>{i - 1} : std::vector<unsigned>{}));
  unsigned last = 3;
  for (unsigned i = 4; i-- > 0;) {
    unsigned before = last;
    weight[i] = op({before});
    if (i)
      last = op({before});
  }
  for (unsigned i = 0; i < 4; ++i) {
    Communication communication;
    communication.bytes = i ? 5 : 20;
    communication.producers = {weight[i]};
    communication.consumers = {{forward[i], 1}};
    communication.stages = {{0, communication.bytes, 0, 0}};
    problem.communications.push_back(communication);
  }
  ASSERT_EQ(check(problem), std::nullopt);
  SolverOptions kept;
  kept.reorder = false;
  EXPECT_EQ(solve(problem, kept).evaluation.period, 110 + 20);
  EXPECT_EQ(solve(problem).evaluation.period, 110);
  // With the gradients between layers held for longer, it needs more memory.
  problem.memoryLimit = 0;
  Solution solution = solve(problem);
  EXPECT_EQ(verify(problem, solution.schedule), std::nullopt);
}

TEST(SolveTest, NothingToCommunicate) {
  Problem problem = layers(3, 4, {1, 1});
  problem.communications.clear();
  Solution solution = solve(problem);
  EXPECT_EQ(verify(problem, solution.schedule), std::nullopt);
  EXPECT_EQ(solution.evaluation.period, 14);
}

} // namespace
} // namespace commsched::schedule
