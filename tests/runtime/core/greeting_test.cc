// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/greeting.h"

#include <gtest/gtest.h>

#include <random>

namespace commsched::runtime::core {
namespace {

Greeting Random(std::mt19937_64 &random) {
  return {.protocol = random() % 8 == 0,
          .epoch = random() % 3,
          .nodes = 3 + int(random() % 8 == 0),
          .rank = int(random() % 5) - 1,
          .to = int(random() % 5) - 1,
          .plan_digest = random() % 8 == 0 ? Greeting::kAnyPlan : random() % 8 == 0};
}

// Two greet each other: either both are welcome, being of one job and whom the other takes
// them for, or both are not; and who is early for one is late for the other.
TEST(GreetingTest, TwoComeToOneConclusion) {
  std::mt19937_64 random(1);
  int welcome = 0, earlier = 0;
  for (int i = 0; i < 200000; ++i) {
    const Greeting called = Random(random), caller = Random(random);
    const bool any = called.plan_digest == Greeting::kAnyPlan || caller.plan_digest == Greeting::kAnyPlan;
    const bool alike = called.protocol == caller.protocol && called.epoch == caller.epoch &&
                       called.nodes == caller.nodes && (any || called.plan_digest == caller.plan_digest);
    const bool meant = caller.to == called.rank && caller.rank > called.rank &&
                       caller.rank < called.nodes;
    const bool partner = random() % 4 != 0;
    const Verdict first = JudgeCaller(called, caller, partner);
    EXPECT_EQ(first.kind == Verdict::kWelcome, alike && meant && partner);
    EXPECT_EQ(first.kind == Verdict::kWelcome, first.why.empty());
    const Verdict second = JudgeCalled(caller, called);
    EXPECT_EQ(second.kind == Verdict::kWelcome, alike && caller.to == called.rank);
    EXPECT_EQ(JudgeEqual(called, caller, partner).kind == Verdict::kWelcome, alike && partner);
    // Of another protocol nobody knows the epoch.
    const bool other = called.protocol == caller.protocol && called.epoch != caller.epoch;
    EXPECT_EQ(first.kind == Verdict::kEarlier, other && caller.epoch < called.epoch);
    EXPECT_EQ(first.kind == Verdict::kLater, other && caller.epoch > called.epoch);
    EXPECT_EQ(second.kind == Verdict::kEarlier, first.kind == Verdict::kLater);
    EXPECT_EQ(second.kind == Verdict::kLater, first.kind == Verdict::kEarlier);
    welcome += first.kind == Verdict::kWelcome;
    earlier += first.kind == Verdict::kEarlier;
  }
  EXPECT_GT(welcome, 1000);
  EXPECT_GT(earlier, 1000);
}

}  // namespace
}  // namespace commsched::runtime::core
