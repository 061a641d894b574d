// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compute that takes longer and shorter, and collectives that go one at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/simulator_plans.h"
#include "tests/runtime/trace_spans.h"

namespace commsched::testing::in_order {
namespace {

using runtime::SimulationOptions;
using runtime::SimulationResult;

TEST(SimulatorJitter, ComputeTakesAboutAsLong) {
  CostPlan plan(3);
  plan.f.Delay(1'000'000, {{0, 1}});
  SimulationOptions options = Plain(400);
  EXPECT_EQ(plan.Simulate(options).step_ns, 1'000'000);
  std::set<double> totals;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    options.jitter = 0.1;
    options.jitter_seed = seed;
    const SimulationResult result = plan.Simulate(options);
    // Ranks do not wait for each other: each has its own times.
    EXPECT_EQ(result.ranks.size(), 3u);
    std::set<double> own;
    for (const runtime::RankResult &rank : result.ranks) {
      // Twenty steps of the mean's standard deviation.
      EXPECT_NEAR(rank.compute_ns, 1'000'000, 20 * 0.1e6 / std::sqrt(3. * 400));
      own.insert(rank.compute_ns);
    }
    EXPECT_EQ(own.size(), 3u);
    double before = 0;
    std::set<double> times;
    for (double end : result.ends_ns) {
      times.insert(end - before);
      // The last of three, which may have been behind before.
      EXPECT_GE(end - before, 0);
      before = end;
    }
    EXPECT_GT(times.size(), 300u);
    EXPECT_EQ(plan.Simulate(options).total_ns, result.total_ns);
    totals.insert(result.total_ns);
  }
  EXPECT_EQ(totals.size(), 5u);
}

TEST(SimulatorJitter, IsWithinItsBounds) {
  CostPlan plan(1);
  plan.f.Delay(1'000'000, {{0, 1}});
  SimulationOptions options = Plain(1000);
  options.jitter = 0.25;
  const SimulationResult result = plan.Simulate(options);
  double before = 0, least = 1e9, most = 0;
  for (double end : result.ends_ns) {
    least = std::min(least, end - before);
    most = std::max(most, end - before);
    before = end;
  }
  EXPECT_GE(least, 750'000);
  EXPECT_LT(least, 760'000);
  EXPECT_LE(most, 1'250'000);
  EXPECT_GT(most, 1'240'000);
}

TEST(SimulatorInOrder, OneEndsBeforeTheNextBegins) {
  // Both are ready at once, and the urgent one overtakes: without an order both are on the link
  // together; in order, the second begins when the first has come.
  CostPlan plan(2);
  plan.f.Delay(1000, {{1, 1}, {2, 1}});
  plan.AllReduce("a", 500, {{0}}, {}, 2);
  plan.AllReduce("b", 500, {{0}}, {}, 1);
  SimulationOptions options = Plain();
  const SimulationResult overtaking = plan.Simulate(options);
  options.in_order = true;
  const SimulationResult ordered = plan.Simulate(options);
  // Two rounds each of half the bytes, and their latency.
  EXPECT_EQ(ordered.step_ns, 1000 + 2 * 2 * (1000 + kAlpha));
  EXPECT_LT(overtaking.step_ns, ordered.step_ns);
}

// Steps of layers, as in simulator_classes_test.cc.
CostPlan RandomSteps(std::mt19937_64 &random, int nodes) {
  const auto draw = [&](uint64_t least, uint64_t most) {
    return least + random() % (most - least + 1);
  };
  CostPlan plan(nodes);
  const auto layers = uint32_t(draw(1, 6));
  for (uint32_t i = 0; i < layers; ++i) {
    std::vector<FunctionBuilder::Wait> waits;
    if (i > 0) waits.push_back({2 * i - 2});
    for (uint32_t j = 0; j < layers; ++j) {
      if (draw(0, 2) == 0) waits.push_back({2 * j + 1, 1});
    }
    if (i > 0 && draw(0, 3) == 0) waits.push_back({2 * uint32_t(draw(0, i - 1)) + 1});
    const uint32_t delay = plan.f.Delay(draw(0, 300'000), waits);
    plan.AllReduce("g" + std::to_string(i), int64_t(draw(1, 100'000)), {{delay}, {2 * i + 1, 1}},
                   {}, int(draw(0, 3)));
  }
  return plan;
}

// On all ranks the same one order in all steps, one behind the other.
TEST(SimulatorInOrder, AllRanksHaveOneOrder) {
  size_t slower = 0, faster = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    const int nodes = 2 + int(random() % 4);
    CostPlan plan = RandomSteps(random, nodes);
    SimulationOptions options;
    options.steps = 5;
    options.every_rank = true;
    options.jitter = double(random() % 3) * 0.2;
    options.jitter_seed = seed;
    const double overtaking = plan.Simulate(options).total_ns;
    runtime::TraceRecorder trace;
    options.in_order = true;
    options.trace = &trace;
    const SimulationResult result = plan.Simulate(options);
    slower += result.total_ns > overtaking;
    faster += result.total_ns < overtaking;
    std::map<int, std::vector<std::string>> orders;  // by rank
    for (const Span &span : SpansOf(trace)) {
      if (span.track.rfind("send", 0) != 0) continue;
      std::vector<std::string> &order = orders[span.rank];
      if (order.empty() || order.back() != span.name) order.push_back(span.name);
    }
    ASSERT_EQ(orders.size(), size_t(nodes));
    for (const auto &[rank, order] : orders) {
      EXPECT_EQ(order, orders[0]) << "seed " << seed << " rank " << rank;
      // The last of a step may be the first of the next one: a step of one collective is one run.
      const size_t keys = std::set<std::string>(order.begin(), order.end()).size();
      if (keys == 1) continue;
      ASSERT_EQ(order.size(), keys * 5) << "seed " << seed;
      for (size_t i = keys; i < order.size(); ++i) EXPECT_EQ(order[i], order[i - keys]);
    }
  }
  // It is a restriction: where it makes a difference, it mostly costs something.
  EXPECT_GT(2 * slower, 3 * faster);
}

TEST(SimulatorInOrder, RefusesWhatMakesNoSense) {
  CostPlan plan(2);
  plan.f.Delay(1000, {});
  SimulationOptions options;
  options.jitter = 1;
  EXPECT_EQ(runtime::Simulate(*plan.Load(), options).status().message(),
            "jitter must be at least 0 and below 1, got: 1");
  EXPECT_EQ(runtime::ParseJitter("1.5", &options).message(),
            "jitter must be at least 0 and below 1, got: 1.5");
  EXPECT_EQ(runtime::ParseJitter("0.5/x", &options).message(),
            "the seed of jitter must be a number of at least 0, got: x");
  ASSERT_TRUE(runtime::ParseJitter("0.5/7", &options).ok());
  EXPECT_EQ(options.jitter, 0.5);
  EXPECT_EQ(options.jitter_seed, 7u);
}

}  // namespace
}  // namespace commsched::testing::in_order
