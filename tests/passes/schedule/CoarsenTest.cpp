// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Coarsen.h"

#include "passes/schedule/solver/Policy.h"
#include "tests/passes/schedule/LittleEffort.h"
#include "tests/passes/schedule/RandomLayers.h"

#include "gtest/gtest.h"

namespace commsched::schedule {
namespace {

TEST(CoarsenTest, FewerMessagesWithinTheLimit) {
  size_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Problem problem = randomLayers(seed);
    Solution solution = solve(problem, little());
    View view(problem, solution.schedule.order);
    for (double tolerance : {1.0, 1.005, 1.1}) {
      Evaluation evaluation = solution.evaluation;
      double most = evaluation.period * tolerance;
      Schedule coarse = coarsen(view, solution.schedule, evaluation, most, 20000);
      ASSERT_EQ(verify(problem, coarse), std::nullopt) << seed;
      EXPECT_LE(evaluation.period, most) << seed;
      EXPECT_EQ(evaluation.period, evaluate(problem, coarse).period) << seed;
      EXPECT_LE(coarse.messages.size(), solution.schedule.messages.size()) << seed;
      if (tolerance == 1.1) {
        before += solution.schedule.messages.size();
        after += coarse.messages.size();
      }
    }
  }
  EXPECT_LT(after * 4, before * 3);
}

TEST(CoarsenTest, NoPolicyIsAheadWithFewerMessages) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomLayers(seed);
    Solution ours = runPolicy(problem, "solver", little());
    ASSERT_EQ(verify(problem, ours.schedule), std::nullopt) << seed;
    for (const char *name : {"fifo", "wfbp", "fixed-buckets", "mg-wfbp", "p3", "dear"}) {
      Solution other = runPolicy(problem, name, little());
      // Priorities by consumer may cost a five-hundredth more.
      bool fewer = other.schedule.messages.size() <= ours.schedule.messages.size();
      EXPECT_LE(ours.evaluation.period,
                other.evaluation.period * (fewer ? 1 : 1.005) * 1.002)
          << seed << " " << name;
    }
  }
}

} // namespace
} // namespace commsched::schedule
