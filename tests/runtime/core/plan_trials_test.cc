// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that are tried in turn: whatever their steps take, and whatever is measured of it within the error that is
// told, trials end, and what is kept is the fastest but for that error and a tenth of a percent.
#include "runtime/core/plan_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace commsched::runtime::core {
namespace {

// What a turn of a plan takes, the nth of the run and the mth of the plan, from 0.
using TurnNs = std::function<int64_t(size_t plan, int turn, int of_plan)>;

// A run with plans of which turns take so long, with an error that is told; plans of `refused` cannot run.
class Trials {
 public:
  Trials(size_t plans, const TurnNs &turn_ns, int64_t error, std::set<size_t> refused = {}) : trials_(plans), tried_(plans) {
    size_t running = 0;
    Measure(0, turn_ns, error);  // it runs already
    while (const std::optional<size_t> next = trials_.Next()) {
      EXPECT_NE(*next, running);
      if (++asked_ > 100) break;
      if (refused.count(*next) != 0) {
        trials_.Refused(*next, running);
        continue;
      }
      running = *next;
      Measure(running, turn_ns, error);
    }
  }
  void Measure(size_t plan, const TurnNs &turn_ns, int64_t error) {
    const int64_t ns = turn_ns(plan, turns_++, tried_[plan]++);
    trials_.Measured(plan, ns, error);
  }

  PlanTrials trials_;
  std::vector<int> tried_;
  int asked_ = 0, turns_ = 0;
};

// The first plan's turns, and those of each other with as many of the one it is compared with.
int MostTurns(size_t plans) { return 2 + int(plans - 1) * (2 * PlanTrials::kMostTurns + 1); }

double Slack(double ns) { return ns * double(PlanTrials::kLeastPermille) / 1000 + 2; }

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
    std::mt19937_64 noise(seed);
    Trials run(steps.size(), [&](size_t plan, int, int) { return steps[plan] + std::uniform_int_distribution<int64_t>(-error, error)(noise); }, error, refused);
    ASSERT_FALSE(run.trials_.Next());
    ASSERT_LE(run.asked_, MostTurns(steps.size()));
    int64_t best = steps[0];
    for (size_t plan = 1; plan < steps.size(); ++plan)
      if (refused.count(plan) == 0) {
        best = std::min(best, steps[plan]);
        ASSERT_GE(run.tried_[plan], 1);
      } else {
        ASSERT_EQ(run.tried_[plan], 0);
      }
    const size_t kept = run.trials_.Kept();
    ASSERT_EQ(refused.count(kept), 0u);
    // Two errors for who is the fastest, as a difference is of two turns, each against another that is kept in between.
    ASSERT_LE(double(steps[kept]), double(best + 2 * error) + Slack(double(steps[0] + error))) << seed;
    // A change gains something, but for two errors at once.
    if (kept != 0) {
      ASSERT_LT(steps[kept], steps[0] + (error == 0 ? 0 : error * 144 / 100 + 2));
    }
    ++(kept == 0 ? stayed : changed);
    again += *std::max_element(run.tried_.begin() + (steps.size() > 1 ? 1 : 0), run.tried_.end()) > 2;
  }
  EXPECT_GT(changed, 500);
  EXPECT_GT(stayed, 500);
  EXPECT_GT(again, 500);
}

// Plans of drawn steps, by turns that `of_steps` makes of these, are tried without an error that is told: the fastest is kept, but
// for `slack` times what makes no difference. How often that is not the first.
int ExpectFastest(const std::function<TurnNs(const std::vector<int64_t> &steps, std::mt19937_64 *random)> &of_steps, double slack) {
  std::mt19937_64 random(11);
  int changed = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::vector<int64_t> steps(2 + random() % 4);
    for (int64_t &ns : steps) ns = 1'000'000 + int64_t(random() % 40'000);
    Trials run(steps.size(), of_steps(steps, &random), 0);
    const size_t kept = run.trials_.Kept();
    const auto best = double(*std::min_element(steps.begin(), steps.end()));
    EXPECT_LE(double(steps[kept]), best + slack * Slack(best)) << seed;
    changed += kept != 0;
  }
  return changed;
}

// Other work comes between one turn of each plan, and makes its steps up to a fifth longer.
TEST(PlanTrialsTest, ADisturbedTurnOfEachPlanMakesNoDifference) {
  const auto of_steps = [](const std::vector<int64_t> &steps, std::mt19937_64 *random) {
    std::vector<int> disturbed;  // the turn; perhaps one that is never made
    for (size_t plan = 0; plan < steps.size(); ++plan) disturbed.push_back(int((*random)() % 4));
    return [steps, disturbed, random](size_t plan, int, int turn) {
      return steps[plan] + (turn == disturbed[plan] ? int64_t((*random)() % uint64_t(steps[plan] / 5)) : 0);
    };
  };
  EXPECT_GT(ExpectFastest(of_steps, 1), 500);
}

// The machine is slower for a while, from any turn to any other: all plans alike, by less than a quarter.
TEST(PlanTrialsTest, ASlowWhileMakesNoDifference) {
  const auto of_steps = [](const std::vector<int64_t> &steps, std::mt19937_64 *random) {
    const int from = int((*random)() % 20), until = from + 1 + int((*random)() % 20);
    const double slower = 1 + double((*random)() % 240) / 1000;
    return [=](size_t plan, int turn, int) { return int64_t(double(steps[plan]) * (turn >= from && turn < until ? slower : 1)); };
  };
  EXPECT_GT(ExpectFastest(of_steps, 1), 500);
}

// A machine that becomes slower and slower, or faster.
TEST(PlanTrialsTest, ADriftMakesNoDifference) {
  const auto of_steps = [](const std::vector<int64_t> &steps, std::mt19937_64 *random) {
    const double each = (double((*random)() % 100) - 50) / 5000;  // of a step, with each turn
    return [=](size_t plan, int turn, int) { return int64_t(double(steps[plan]) * (1 + each * turn)); };
  };
  EXPECT_GT(ExpectFastest(of_steps, 3), 500);
}

TEST(PlanTrialsTest, WhatGainsLessThanATenthOfAPercentIsNoChange) {
  for (int64_t seed = 0; seed < 95; ++seed) {
    const std::vector<int64_t> steps = {1'000'000, 999'050 + seed * 10, 1'000'000};
    Trials run(3, [&](size_t plan, int, int) { return steps[plan]; }, 0);
    EXPECT_EQ(run.trials_.Kept(), 0u);
    EXPECT_EQ(run.tried_, (std::vector<int>{5, 2, 2}));
  }
}

// How far what is kept is behind the fastest on average, in percent: four plans, turns off by `noise` percent, the others than the
// first `later` percent later than it, more or less `spread`.
double Lost(double noise, double later, double spread) {
  double lost = 0;
  constexpr int kRuns = 4000;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> steps = {1e6};
    while (steps.size() < 4) steps.push_back(1e6 + 1e4 * (later + spread * normal(random)));
    Trials run(4, [&](size_t plan, int, int) { return int64_t(steps[plan] * (1 + noise / 100 * normal(random))); }, int64_t(1e4 * noise));
    lost += steps[run.trials_.Kept()] / *std::min_element(steps.begin(), steps.end()) - 1;
  }
  return 100 * lost / kRuns;
}

// A rule that waits until plans are told apart keeps the first where another is faster; one that takes whoever was faster gives it up
// where it is the fastest as a rule.
TEST(PlanTrialsTest, LittleIsLostWhetherTheFirstIsTheFastestOrNot) {
  EXPECT_LT(Lost(2, 0, 2), 0.35);
  EXPECT_LT(Lost(2, 1, 1), 0.33);
  EXPECT_LT(Lost(1, 0, 1), 0.18);
  EXPECT_LT(Lost(0.3, 0, 1), 0.03);
}

// Steps that differ much from turn to turn, as where processors are shared: what several say together is known better than one.
TEST(PlanTrialsTest, WhatSeveralTurnsSayTogetherCounts) {
  std::mt19937_64 random(3);
  int changed = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Trials run(2, [&](size_t plan, int, int) { return int64_t(std::normal_distribution<double>(plan == 0 ? 1'000'000 : 960'000, 20'000)(random)); }, 25'000);
    changed += run.trials_.Kept() == 1;
  }
  EXPECT_GT(changed, 750);
}

// More turns of plans that are as fast as the first would tell nothing.
TEST(PlanTrialsTest, TrialsEndOnceNoneCanBeKeptInsteadOfTheFirst) {
  std::mt19937_64 random(5);
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    std::vector<int64_t> steps = {1'000'000};
    for (uint64_t others = 1 + random() % 5; others > 0; --others)
      steps.push_back(999'700 + int64_t(random() % 3'000));
    const int64_t off = int64_t(random() % 100);
    const auto turn = [&](size_t plan, int, int) { return steps[plan] + int64_t(random() % uint64_t(off + 1)); };
    Trials run(steps.size(), turn, off);
    EXPECT_EQ(run.trials_.Kept(), 0u);
    EXPECT_LE(*std::max_element(run.tried_.begin() + 1, run.tried_.end()), 2) << seed;
    steps.push_back(995'000);  // which is worth a change
    EXPECT_EQ(Trials(steps.size(), turn, off).trials_.Kept(), steps.size() - 1);
  }
}

TEST(PlanTrialsTest, ClearlySlowerPlansHaveOneTurn) {
  const std::vector<int64_t> steps = {990'000, 1'500'000, 800'000, 805'000};
  std::mt19937_64 random(3);
  Trials run(4, [&](size_t plan, int, int) { return steps[plan] + int64_t(random() % 20'000) - 10'000; }, 10'000);
  EXPECT_EQ(run.tried_[1], 1);
  EXPECT_GE(run.tried_[2], 2);
  EXPECT_GE(run.tried_[3], 2);
  EXPECT_GE(run.trials_.Kept(), 2u);
}

// Turns that differ more than the error that was told.
TEST(PlanTrialsTest, NoiseIsSeenInTurnsToo) {
  const std::vector<int64_t> first = {1'000'000, 1'100'000, 1'060'000, 1'000'000, 1'080'000},
                             second = {1'095'000, 1'025'000, 1'055'000, 1'035'000};
  Trials run(2, [&](size_t plan, int, int turn) { return (plan == 0 ? first : second).at(size_t(turn)); }, 0);
  EXPECT_EQ(run.tried_, (std::vector<int>{5, 4}));
  EXPECT_EQ(run.trials_.Kept(), 0u);
}

// A turn goes on until the plan changes: what was measured at the end of it counts.
TEST(PlanTrialsTest, WhatIsMeasuredLongerCounts) {
  for (bool longer : {false, true}) {
    PlanTrials trials(2);
    for (int turn = 0; turn < 5; ++turn) {
      const size_t plan = turn % 2;
      trials.Measured(plan, plan == 1 ? 900'000 : 1'000'000, 0);
      if (longer && plan == 1) trials.MeasuredLonger(1, 1'010'000, 0);
      trials.MeasuredLonger(1 - plan, 1, 0);  // which is over
    }
    EXPECT_FALSE(trials.Next());
    EXPECT_EQ(trials.Kept(), longer ? 0u : 1u);
    EXPECT_EQ(trials.StepNs(1), longer ? 1'010'000 : 900'000);
  }
}

// The plan that is held cannot run any more: the one that runs is.
TEST(PlanTrialsTest, WhoCannotRunIsNotKept) {
  PlanTrials trials(3);
  trials.Measured(0, 1'000'000, 0);
  trials.Measured(1, 1'100'000, 0);
  ASSERT_EQ(trials.Next(), 0u);
  trials.Refused(0, 1);
  EXPECT_EQ(trials.Kept(), 1u);
  ASSERT_EQ(trials.Next(), 1u);  // a turn to compare with
  trials.Measured(1, 1'100'000, 0);
  ASSERT_EQ(trials.Next(), 2u);
  trials.Refused(2, 1);
  EXPECT_FALSE(trials.Next());
  EXPECT_EQ(trials.Kept(), 1u);
}

}  // namespace
}  // namespace commsched::runtime::core
