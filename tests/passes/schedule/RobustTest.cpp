// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Robust.h"

#include "passes/schedule/solver/Policy.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/LittleEffort.h"
#include "tests/passes/schedule/RandomLayers.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

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

// What takes a little longer and has fewer messages is taken for them.
TEST(RobustTest, NoneWithFewerMessagesIsAhead) {
  unsigned looked = 0;
  Cases cases = casesOf(200);
  cases.end = std::max(cases.end, cases.first + 100); // for something to look at
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<int64_t> bytes(4 + random() % 8);
    for (int64_t &own : bytes)
      own = 1000 + random() % 1'000'000;
    // Links have some time left.
    const Time total = std::accumulate(bytes.begin(), bytes.end(), Time{0}) / static_cast<Time>(bytes.size());
    Problem problem = layers(total * (10 + random() % 10) / 20, total * (10 + random() % 20) / 10, bytes, 2);
    for (Communication &communication : problem.communications)
      for (Stage &stage : communication.stages)
        stage.overhead = 100 + seed % 5 * 500;
    const Solution fastest = solve(problem, little());
    const Solution ours = runPolicy(problem, "solver", little());
    const Variations variations(problem);
    const double own = *variations.judge(ours.schedule, ours.evaluation.period, kNever);
    const double most = std::max(fastest.bestBaseline, fastest.evaluation.period);
    for (const Schedule &fewer : fastest.fewer) {
      const double period = evaluate(problem, fewer).period;
      if (period > most || period + variations.costOfMessages(fewer) >
                               fastest.evaluation.period + variations.costOfMessages(fastest.schedule))
        continue;
      EXPECT_LE(own, *variations.judge(fewer, period, kNever));
      ++looked;
    }
  }
  EXPECT_GT(looked, 10u);
}

// Where nothing waits for a message, all that it costs is a tenth of its overhead.
TEST(RobustTest, MessagesCountThoughALinkHidesThem) {
  Problem problem;
  problem.links = {{"l", 1'000'000'000, true}};
  problem.ops = {{"a", 0, 1'000'000'000, {}, 0}};
  problem.communications = {{"t", 200, {0}, {}, {{0, 200, 1'000'000, 50}}, true, 0, 0}};
  Schedule schedule;
  schedule.order = {{0}};
  schedule.messages = {{{{0, 0, 100}}, {0}}, {{{0, 100, 200}}, {0}}};
  schedule.credit = {kNoLimit};
  const double period = evaluate(problem, schedule).period;
  EXPECT_EQ(period, 1'000'000'000);
  const Variations variations(problem);
  EXPECT_DOUBLE_EQ(variations.costOfMessages(schedule), 200'000);
  EXPECT_NEAR(*variations.judge(schedule, period, kNever), 1.0002, 1e-12);
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
