// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Robust.h"

#include "passes/schedule/solver/Policy.h"
#include "tests/passes/schedule/LittleEffort.h"
#include "tests/passes/schedule/RandomLayers.h"

#include "gtest/gtest.h"

#include <algorithm>

namespace commsched::schedule {
namespace {

constexpr const char *kPolicies[] = {"fifo", "wfbp", "fixed-buckets", "p3",
                                     "pace", "mg-wfbp", "dear"};

TEST(RobustTest, NoPolicyIsAheadInAllVariations) {
  unsigned ahead = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomLayers(seed);
    for (Link &link : problem.links)
      link.creditUntilSent = seed % 2;
    Solution fastest = solve(problem, little());
    Solution ours = runPolicy(problem, "solver", little());
    ASSERT_EQ(verify(problem, ours.schedule), std::nullopt) << seed;
    EXPECT_EQ(ours.evaluation.period, evaluate(problem, ours.schedule).period) << seed;
    // No longer than the best policy, and within 3 % of what is fastest.
    double most = fastest.evaluation.period * 1.03;
    for (const auto &[name, period] : fastest.baselines)
      most = std::min(most, std::max(period, fastest.evaluation.period));
    EXPECT_LE(ours.evaluation.period, most) << seed;
    Variations variations(problem);
    double own = *variations.judge(ours.schedule, ours.evaluation.period, kNever);
    ahead += own < *variations.judge(fastest.schedule, fastest.evaluation.period, kNever);
    if (fastest.schedule.order != programOrder(problem))
      continue; // policies keep the program's
    for (const char *name : kPolicies) {
      Solution other = runPolicy(problem, name, little());
      if (other.evaluation.period <= most) {
        EXPECT_LE(own, *variations.judge(other.schedule, other.evaluation.period, kNever))
            << seed << " " << name;
      }
    }
  }
  EXPECT_GT(ahead, 0u);
}

TEST(RobustTest, JudgesByTheMeanAndStopsAtTheLimit) {
  Problem problem = randomLayers(3);
  Variations variations(problem);
  Solution fifo = runPolicy(problem, "fifo");
  double all = *variations.judge(fifo.schedule, fifo.evaluation.period, kNever);
  EXPECT_GE(all, 1);
  EXPECT_EQ(variations.judge(fifo.schedule, fifo.evaluation.period, all), all);
  // More as given is more in the mean, and a limit below what is certain ends it.
  EXPECT_GT(*variations.judge(fifo.schedule, 2 * fifo.evaluation.period, kNever), all);
  EXPECT_EQ(variations.judge(fifo.schedule, fifo.evaluation.period, 0.9), std::nullopt);
}

// One op, one tensor and a link: what counts is worked out by hand.
TEST(RobustTest, CreditIsFreeWhenTheLastByteIsSent) {
  Problem problem;
  problem.links = {{"l", 1'000'000'000, true}};
  problem.ops = {{"a", 0, 10, {}, 0}};
  problem.communications = {{"t", 200, {0}, {{0, 1}}, {{0, 200, 0, 50}}, true, 0, 0}};
  Schedule schedule;
  schedule.order = {{0}};
  schedule.messages = {{{{0, 0, 100}}, {0}}, {{{0, 100, 200}}, {0}}};
  schedule.credit = {1};
  // Both are sent without a pause: 10 + 100 + 100 + 50.
  EXPECT_EQ(evaluate(problem, schedule).period, 260);
  // The second waits for the first to arrive: 10 + 2 x (100 + 50).
  problem.links.front().creditUntilSent = false;
  EXPECT_EQ(evaluate(problem, schedule).period, 310);
}

} // namespace
} // namespace commsched::schedule
