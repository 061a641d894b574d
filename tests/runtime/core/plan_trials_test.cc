// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that are tried in turn: whatever their steps take, and whatever is measured of it within the error that is
// told, trials end, and what is kept is the fastest but for that error and half a percent.
#include "runtime/core/plan_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace commsched::runtime::core {
namespace {

// A run with plans that take so long, measured with an error of at most `error`; plans of `refused` are.
class Trials {
 public:
  Trials(std::vector<int64_t> step_ns, int64_t error, std::set<size_t> refused, uint64_t seed)
      : step_ns_(std::move(step_ns)), error_(error), refused_(std::move(refused)), random_(seed), trials_(step_ns_.size()), tried_(step_ns_.size()) {
    Measure(0);  // it runs already
    for (int i = 0; i < 100; ++i) {
      const std::optional<size_t> next = trials_.Next();
      if (!next) break;
      ++asked_;
      if (refused_.count(*next) != 0)
        trials_.Refused(*next);
      else
        Measure(*next);
    }
  }
  void Measure(size_t plan) {
    ++tried_[plan];
    trials_.Measured(plan, step_ns_[plan] + std::uniform_int_distribution<int64_t>(-error_, error_)(random_), error_);
  }

  const std::vector<int64_t> step_ns_;
  const int64_t error_;
  const std::set<size_t> refused_;
  std::mt19937_64 random_;
  PlanTrials trials_;
  std::vector<int> tried_;
  int asked_ = 0;
};

TEST(PlanTrialsTest, TheFastestButForTheErrorIsKept) {
  std::mt19937_64 random(7);
  int changed = 0, stayed = 0, again = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::vector<int64_t> steps(1 + random() % 6);
    const int64_t spread = 1 + int64_t(random() % 300'000);
    for (int64_t &ns : steps) ns = 1'000'000 + int64_t(random() % uint64_t(spread));
    std::set<size_t> refused;
    for (size_t plan = 1; plan < steps.size(); ++plan)
      if (random() % 5 == 0) refused.insert(plan);
    const int64_t error = random() % 3 == 0 ? 0 : int64_t(random() % 60'000);
    Trials run(steps, error, refused, seed);
    ASSERT_FALSE(run.trials_.Next());
    ASSERT_LE(run.asked_, PlanTrials::kMostTrials * int(steps.size()));
    int64_t best = steps[0];
    for (size_t plan = 1; plan < steps.size(); ++plan)
      if (refused.count(plan) == 0) {
        best = std::min(best, steps[plan]);
        ASSERT_GE(run.tried_[plan], 1);
      }
    const size_t kept = run.trials_.Kept();
    ASSERT_EQ(refused.count(kept), 0u);
    // Two errors for who is the fastest, and what a change must gain.
    const int64_t gain = std::max(2 * error, (steps[0] + error) * PlanTrials::kLeastPermille / 1000) + 1;
    ASSERT_LE(steps[kept], best + 2 * error + (kept == 0 ? gain : 0)) << seed;
    // A change gains something, but for two errors at once.
    if (kept != 0) {
      ASSERT_LT(steps[kept], steps[0] + (error == 0 ? 0 : error * 144 / 100 + 2));
    }
    ASSERT_EQ(run.trials_.Kept(), kept);
    ++(kept == 0 ? stayed : changed);
    again += *std::max_element(run.tried_.begin(), run.tried_.end()) > 1;
  }
  EXPECT_GT(changed, 500);
  EXPECT_GT(stayed, 500);
  EXPECT_GT(again, 500);
}

// Other work comes between one trial of each plan, and makes its steps up to a fifth longer.
TEST(PlanTrialsTest, ADisturbedTrialOfEachPlanMakesNoDifference) {
  std::mt19937_64 random(11);
  int changed = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::vector<int64_t> steps(2 + random() % 4);
    for (int64_t &ns : steps) ns = 1'000'000 + int64_t(random() % 40'000);
    std::vector<int> disturbed, tried(steps.size());  // the trial; perhaps one that is never made
    for (size_t plan = 0; plan < steps.size(); ++plan) disturbed.push_back(int(random() % 4));
    PlanTrials trials(steps.size());
    const auto measure = [&](size_t plan) {
      const bool longer = tried[plan]++ == disturbed[plan];
      trials.Measured(plan, steps[plan] + (longer ? int64_t(random() % (steps[plan] / 5)) : 0), longer ? int64_t(random() % 50'000) : 0);
    };
    measure(0);
    while (const std::optional<size_t> next = trials.Next()) measure(*next);
    const size_t kept = trials.Kept();
    const int64_t best = *std::min_element(steps.begin(), steps.end());
    ASSERT_LE(steps[kept], best + (kept == 0 ? steps[0] * PlanTrials::kLeastPermille / 1000 : 0)) << seed;
    changed += kept != 0;
  }
  EXPECT_GT(changed, 500);
}

TEST(PlanTrialsTest, WhatGainsLessThanHalfAPercentIsNoChange) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Trials run({1'000'000, 996'000 + int64_t(seed) * 20, 1'000'000}, 0, {}, seed);
    EXPECT_EQ(run.trials_.Kept(), 0u);
    for (int tried : run.tried_) EXPECT_LE(tried, PlanTrials::kMostTrials);
  }
}

// How far what is kept is behind the fastest on average, in percent: four plans, trials off by `noise` percent, the others than the
// first `later` percent later than it, more or less `spread`.
double Lost(double noise, double later, double spread) {
  double lost = 0;
  constexpr int kRuns = 4000;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> steps = {1e6};
    while (steps.size() < 4) steps.push_back(1e6 + 1e4 * (later + spread * normal(random)));
    PlanTrials trials(steps.size());
    const auto measure = [&](size_t plan) { trials.Measured(plan, int64_t(steps[plan] * (1 + noise / 100 * normal(random))), int64_t(1e4 * noise)); };
    measure(0);
    while (const std::optional<size_t> next = trials.Next()) measure(*next);
    lost += steps[trials.Kept()] / *std::min_element(steps.begin(), steps.end()) - 1;
  }
  return 100 * lost / kRuns;
}

// A rule that waits until plans are told apart keeps the first where another is faster; one that takes whoever was faster gives it up
// where it is the fastest as a rule.
TEST(PlanTrialsTest, LittleIsLostWhetherTheFirstIsTheFastestOrNot) {
  EXPECT_LT(Lost(2, 0, 2), 0.55);
  EXPECT_LT(Lost(2, 1, 1), 0.33);
  EXPECT_LT(Lost(1, 0, 1), 0.28);
  EXPECT_LT(Lost(0.3, 0, 1), 0.08);
}

// Steps that differ much from trial to trial, as where processors are shared: what three trials say together is known better than one.
TEST(PlanTrialsTest, WhatThreeTrialsSayTogetherCounts) {
  std::mt19937_64 random(3);
  int changed = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    PlanTrials trials(2);
    const auto measure = [&](size_t plan) {
      const double ns = std::normal_distribution<double>(plan == 0 ? 1'000'000 : 960'000, 20'000)(random);
      trials.Measured(plan, int64_t(ns), 25'000);
    };
    measure(0);
    while (const std::optional<size_t> next = trials.Next()) measure(*next);
    changed += trials.Kept() == 1;
  }
  EXPECT_GT(changed, 750);
}

// More trials of plans that are as fast as the first would tell nothing.
TEST(PlanTrialsTest, TrialsEndOnceNoneCanBeKeptInsteadOfTheFirst) {
  std::mt19937_64 random(5);
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    std::vector<int64_t> steps = {1'000'000};
    for (uint64_t others = 1 + random() % 5; others > 0; --others)
      steps.push_back(996'000 + int64_t(random() % 6'000));
    Trials run(steps, int64_t(random() % 200), {}, seed);
    EXPECT_EQ(run.trials_.Kept(), 0u);
    EXPECT_LE(*std::max_element(run.tried_.begin(), run.tried_.end()), 2) << seed;
    steps.push_back(990'000);  // which is worth a change
    EXPECT_EQ(Trials(steps, int64_t(random() % 200), {}, seed).trials_.Kept(), steps.size() - 1);
  }
}

TEST(PlanTrialsTest, ClearlySlowerPlansAreTriedOnce) {
  Trials run({990'000, 1'500'000, 800'000, 805'000}, 10'000, {}, 3);
  EXPECT_EQ(run.tried_[0], 2);  // less than a quarter behind, it may be, as far as one trial tells
  EXPECT_EQ(run.tried_[1], 1);
  EXPECT_EQ(run.tried_[2], PlanTrials::kMostTrials);
  EXPECT_EQ(run.tried_[3], PlanTrials::kMostTrials);
  EXPECT_GE(run.trials_.Kept(), 2u);
}

// Trials that differ more than the error that was told.
TEST(PlanTrialsTest, NoiseIsSeenInTrialsToo) {
  PlanTrials trials(2);
  for (int64_t ns : {1'000'000, 1'100'000, 1'060'000}) trials.Measured(0, ns, 0);
  for (int64_t ns : {1'050'000, 1'110'000, 990'000}) trials.Measured(1, ns, 0);
  EXPECT_FALSE(trials.Next());
  EXPECT_EQ(trials.Kept(), 0u);
}

}  // namespace
}  // namespace commsched::runtime::core
