// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run measures of itself for other plans: its steps, and its links.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "runtime/measure/link_observer.h"
#include "runtime/replanning/step_clock.h"

namespace commsched {
namespace {

using namespace runtime;

// The step, counted from 1, at which it says that it is time.
int Fires(StepClock clock, const std::vector<int64_t> &ns) {
  for (size_t i = 0; i < ns.size(); ++i)
    if (clock.Step(ns[i])) return int(i) + 1;
  return 0;
}

std::vector<int64_t> Steps(std::vector<std::pair<int, int64_t>> runs) {
  std::vector<int64_t> all;
  for (auto [count, ns] : runs) all.insert(all.end(), size_t(count), ns);
  return all;
}

TEST(StepClockTest, FiresAfterSoManySteps) {
  EXPECT_EQ(Fires(StepClock(50, 0, 10), Steps({{100, 1000}})), 50);
  // Not before there is enough to go by.
  EXPECT_EQ(Fires(StepClock(3, 0, 10), Steps({{100, 1000}})), 12);
}

TEST(StepClockTest, FiresWhenStepsChangeAndHaveSettled) {
  EXPECT_EQ(Fires(StepClock(0, 20, 10), Steps({{500, 1000}})), 0);
  EXPECT_EQ(Fires(StepClock(0, 20, 10), Steps({{50, 1000}, {4, 9000}, {50, 1000}})), 0);
  EXPECT_EQ(Fires(StepClock(0, 20, 10), Steps({{50, 1000}, {100, 1150}})), 0);
  // Six of ten are slow at 56, then a window of them alone; five of ten are as fast at 55.
  EXPECT_EQ(Fires(StepClock(0, 20, 10), Steps({{50, 1000}, {100, 1500}})), 66);
  EXPECT_EQ(Fires(StepClock(0, 20, 10), Steps({{50, 1000}, {100, 500}})), 65);
}

// Steps that differ little need few to be known, others more, and the error that is told is about what the median is off.
TEST(StepClockTest, FiresWhenEnoughIsKnown) {
  std::mt19937_64 random(5);
  int last = 0;
  for (double percent : {0.0, 0.3, 1.0, 5.0}) {
    int steps = 0;
    double off = 0, told = 0;
    constexpr int kRuns = 400;
    for (int run = 0; run < kRuns; ++run) {
      StepClock clock(1, 0, 40, 5);
      std::normal_distribution<double> ns(1e6, 1e4 * percent);
      int step = 1;
      while (!clock.Step(int64_t(ns(random)))) ASSERT_LT(++step, 43);
      ASSERT_TRUE(step == 7 || step == 12 || step == 22 || step == 42) << step;  // two warm up
      if (step < 42) {
        ASSERT_LE(clock.error_ns(), clock.step_ns() / 400);
      }
      steps += step;
      off += std::pow(double(clock.step_ns()) - 1e6, 2) / kRuns;
      told += std::pow(double(clock.error_ns()), 2) / kRuns;
    }
    EXPECT_GE(steps, last);
    EXPECT_LE(std::sqrt(off), 2 * std::sqrt(told) + 1);
    last = steps;
    if (percent == 0) {
      EXPECT_EQ(steps, 7 * kRuns);
    }
    if (percent == 5) {
      EXPECT_GT(steps, 38 * kRuns);
    }
  }
  // Long steps are not known to a quarter of a percent, nor waited for any longer: 2 s of them.
  for (auto [seconds, steps] : {std::pair{10.0, 1}, {2, 1}, {1.9, 2}, {1, 2}, {0.7, 3}, {0.6, 4}, {0.3, 7}, {0.1, 20}}) {
    std::vector<int64_t> slow;
    for (int i = 0; i < 50; ++i) slow.push_back(int64_t(seconds * 1e9 * (i % 2 == 0 ? 1 : 1.04)));
    EXPECT_EQ(Fires(StepClock(1, 0, 40, 5), slow), 2 + steps) << seconds;
    EXPECT_EQ(Fires(StepClock(1, 0, 40), slow), 42);
  }
  // As many as the window has, where nothing else is said.
  EXPECT_EQ(Fires(StepClock(1, 0, 40), Steps({{100, 1000}})), 42);
}

TEST(StepClockTest, FiresOnceUntilItIsRestarted) {
  StepClock clock(20, 0, 10);
  int fired = 0;
  for (int i = 0; i < 100; ++i) fired += clock.Step(1000).has_value();
  EXPECT_EQ(fired, 1);
  clock.Restart();
  for (int i = 0; i < 100; ++i) fired += clock.Step(1000).has_value();
  EXPECT_EQ(fired, 2);
}

TEST(StepClockTest, CountsWhatHasBeenMeasuredWheneverStepsBegin) {
  StepClock clock(3, 0, 10);
  clock.Completed(7);  // with the next one, as after an evaluation
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(clock.Step(std::nullopt).has_value());
    EXPECT_EQ(clock.step_ns(), i < 2 ? 0 : 1000);
    if (i < 10) clock.Completed(1000);
  }
  EXPECT_TRUE(clock.Step(1000).has_value());
}

// ---- links ------------------------------------------------------------------

TEST(LinkObserverTest, FindsTheRateOfABusyLinkAmongPauses) {
  std::vector<LinkObserver::Period> periods;
  for (uint64_t i = 0; i < 600; ++i) {
    periods.push_back({i, 65536, 524288});            // 1 Gbit/s
    if (i % 60 < 2) periods.back().ns /= 10;          // stored on the way
    if (i % 60 == 59) periods.back().ns += 50000000;  // nothing to send
    if (i % 5 == 0) periods.push_back({i, 1000, 38000});
  }
  auto link = LinkObserver::Fit(periods);
  ASSERT_TRUE(link.has_value());
  EXPECT_NEAR(double(link->bits_per_second), 1e9, 7e7);
  EXPECT_NEAR(double(link->fixed_ns), 30000, 2000);
  EXPECT_FALSE(LinkObserver::Fit({periods.begin(), periods.begin() + 7}).has_value());
}

TEST(LinkObserverTest, CountsWhatComesFromOneMessageToTheNext) {
  LinkObserver links(0, 2, 50);
  const Clock::time_point zero;
  auto at = [&](int us) { return zero + std::chrono::microseconds(us); };
  for (int call = 0; call < 200; ++call) {
    links.Count(1, 100000);
    links.Arrived(1, uint64_t(call), at(call * 1000 + 500));
    links.Count(1, 25000);  // in one packet with it
    links.Arrived(1, uint64_t(call), at(call * 1000 + 510));
    if (call == 4) {
      EXPECT_TRUE(links.Links().empty());  // too few
    }
  }
  auto found = links.Links();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, 1);
  EXPECT_EQ(found[0].to, 0);
  EXPECT_NEAR(double(found[0].bits_per_second), 1e9, 1e6);
}

}  // namespace
}  // namespace commsched
