// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ranks are alike, and that simulating one of each kind gives what simulating
// all of them gives, on random plans.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/simulator/model.h"
#include "tests/runtime/simulator_plans.h"

namespace commsched {
namespace {

using runtime::SimulationOptions;
using runtime::SimulationResult;
using runtime::simulator::ClassesOfRanks;
using runtime::simulator::ExchangeShape;
using testing::CostPlan;
using testing::FunctionBuilder;

std::vector<ExchangeShape> ShapesOf(const std::vector<plan::Phase> &phases,
                                    const runtime::RankGroup &group) {
  std::vector<ExchangeShape> shapes;
  for (const plan::Phase &phase : phases) {
    auto shape = ExchangeShape::Parse(phase, group);
    EXPECT_TRUE(shape.ok()) << shape.status();
    shapes.push_back(*shape);
  }
  return shapes;
}

size_t Count(const std::vector<plan::Phase> &phases, const std::vector<int> &colours) {
  const runtime::RankGroup all(int(colours.size()));
  auto classes = ClassesOfRanks(ShapesOf(phases, all), colours);
  EXPECT_TRUE(classes.ok()) << classes.status();
  return std::set<int>(classes->begin(), classes->end()).size();
}

TEST(SimulatorClasses, RanksOfARingAreAlikeUnlessOneIsNot) {
  auto ring = testing::RingAllReduce(12, plan::SUM, 0);
  EXPECT_EQ(Count(ring, std::vector<int>(12, 0)), 1u);
  std::vector<int> one(12, 0);
  one[5] = 1;
  EXPECT_EQ(Count(ring, one), 12u);
  // Every third one: what is three ranks apart is alike.
  std::vector<int> third(12, 0);
  for (int r = 0; r < 12; r += 3) third[size_t(r)] = 1;
  EXPECT_EQ(Count(ring, third), 3u);
}

TEST(SimulatorClasses, MembersOfAGroupAreOneKindAndOthersAnother) {
  plan::Group six;
  for (uint32_t rank : {1, 3, 5, 7, 9, 11}) six.add_ranks(rank);
  auto group = runtime::RankGroup::Parse(six, 12);
  ASSERT_TRUE(group.ok());
  const std::vector<int> colours(12, 0);
  auto shapes = ShapesOf(testing::RingAllReduce(6, plan::SUM, 0), *group);
  auto classes = ClassesOfRanks(shapes, colours);
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ(*classes, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(SimulatorClasses, HalvingAndDoubling) {
  EXPECT_EQ(Count(testing::HalvingAllReduce(16, plan::SUM, 0), std::vector<int>(16, 0)), 1u);
  // 12 of 8: four that fold, their stand-ins, and the partners of those.
  EXPECT_EQ(Count(testing::HalvingAllReduce(12, plan::SUM, 0), std::vector<int>(12, 0)), 3u);
  std::vector<int> one(16, 0);
  one[3] = 1;
  EXPECT_EQ(Count(testing::HalvingAllReduce(16, plan::SUM, 0), one), 16u);
}

// Two shapes over the same peers are told from two over different ones.
TEST(SimulatorClasses, PeersThatAreOneRankForSomeOnly) {
  // Ranks 0 to 3 swap in pairs; in a second phase 0 and 1 do again, but 2 and 3
  // with others.
  plan::Phase a = testing::DoublingAllReduce(8, plan::SUM)[0];  // with r ^ 1
  plan::Phase b = testing::DoublingAllReduce(8, plan::SUM)[1];  // with r ^ 2
  EXPECT_EQ(Count({a, b}, std::vector<int>(8, 0)), 1u);
  EXPECT_EQ(Count({a, a}, std::vector<int>(8, 0)), 1u);
}

struct Random {
  explicit Random(int seed) : engine(uint32_t(seed)) {}
  int operator()(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(engine);
  }
  std::mt19937 engine;
};

// Layers forward and backward with gradients of any size, some awaited by the same
// step, some by the next.
CostPlan RandomPlan(Random &random, int nodes, bool whole) {
  CostPlan plan(nodes);
  const int layers = random(1, 6);
  std::vector<uint32_t> reduced;
  int previous = -1;
  for (int i = 0; i < layers; ++i) {
    std::vector<FunctionBuilder::Wait> waits;
    if (previous >= 0) waits.push_back({uint32_t(previous)});
    // Of the all-reduce that comes behind layer i: instruction 2 i + 1.
    for (int j = 0; j < layers; ++j)
      if (random(0, 2) == 0) waits.push_back({uint32_t(2 * j + 1), 1});
    if (i > 0 && random(0, 3) == 0) waits.push_back({uint32_t(2 * random(0, i - 1) + 1)});
    const uint32_t delay = plan.f.Delay(uint64_t(random(0, 300'000)), waits);
    previous = int(delay);
    // Parts have one size, and so have slices of them.
    const int unit = whole ? nodes * 48 : 1;
    const int64_t elements = int64_t(random(1, whole ? 10'000 : 30'000)) * unit;
    const bool halving = random(0, 1) == 1;
    plan.AllReduce("g" + std::to_string(i), elements,
                   {{delay}, {uint32_t(2 * i + 1), 1}},
                   halving ? testing::HalvingAllReduce(nodes, plan::SUM, 0)
                           : testing::RingAllReduce(nodes, plan::SUM, 0),
                   random(0, 3));
  }
  if (random(0, 1) == 1) plan.f.proto()->set_credit_bytes(uint64_t(random(1, 200'000)));
  return plan;
}

SimulationOptions RandomOptions(Random &random, int nodes) {
  SimulationOptions options;
  options.steps = 6;
  options.eager_bytes = uint64_t(random(0, 1)) * 65536;
  options.chunk_bytes = uint64_t(random(0, 8)) * 65536;
  options.socket_bytes = uint64_t(random(0, 2)) * 65536;
  options.overhead_ns = random(0, 1) * 700;
  options.engine_ns = random(0, 1) * 300;
  // In half of the cases not all are alike.
  if (random(0, 1) == 1)
    for (int r = 0; r < nodes; r += 2) options.stragglers[r] = 1.75;
  return options;
}

TEST(SimulatorClasses, OneOfEachKindIsAsGoodAsAll) {
  size_t reduced = 0;
  for (int seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const int nodes = random(2, 9);
    CostPlan plan = RandomPlan(random, nodes, /*whole=*/true);
    SimulationOptions options = RandomOptions(random, nodes);
    SimulationResult some = plan.Simulate(options);
    options.every_rank = true;
    SimulationResult all = plan.Simulate(options);
    ASSERT_EQ(all.ranks.size(), size_t(nodes));
    reduced += some.ranks.size() < all.ranks.size();
    // All parts have one size: nothing is different but the order of what happens
    // at once.
    for (size_t i = 0; i < all.ends_ns.size(); ++i)
      ASSERT_NEAR(some.ends_ns[i], all.ends_ns[i], 20) << "seed " << seed << " step " << i;
    size_t c = 0;
    for (const runtime::RankResult &rank : some.ranks) {
      const runtime::RankResult &same = all.ranks[size_t(rank.rank)];
      EXPECT_NEAR(rank.exposed_ns, same.exposed_ns, 20) << "seed " << seed << " class " << c++;
      EXPECT_NEAR(rank.up.bytes_per_step, same.up.bytes_per_step, 1e-6 * same.up.bytes_per_step);
    }
  }
  EXPECT_GT(reduced, 50u);
}

TEST(SimulatorClasses, PartsOfMeanSizeAreNear) {
  // Parts of unequal sizes: by up to one element in each round. That alone is
  // little; but what is sent first may be another one then.
  constexpr int kSeeds = 60;
  double sum = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    const int nodes = random(2, 9);
    CostPlan plan = RandomPlan(random, nodes, /*whole=*/false);
    SimulationOptions options = RandomOptions(random, nodes);
    options.chunk_bytes = 1 << 20;
    SimulationResult some = plan.Simulate(options);
    options.every_rank = true;
    SimulationResult all = plan.Simulate(options);
    const double error = std::abs(some.total_ns / all.total_ns - 1);
    EXPECT_LT(error, 0.2) << "seed " << seed;
    sum += error;
  }
  EXPECT_LT(sum / kSeeds, 0.01);
}

TEST(SimulatorClasses, TensorsOfFewerElementsThanRanks) {
  // Most parts are empty; those that are not go around as fast as they can.
  for (int64_t elements : {1, 3, 16, 40}) {
    CostPlan plan(64);
    plan.f.Delay(1000, {{1, 1}, {2, 1}});
    plan.AllReduce("few", elements, {{0}});
    plan.AllReduce("many", 64'000, {{0}});
    SimulationOptions options;
    options.overhead_ns = 400;
    SimulationResult some = plan.Simulate(options);
    EXPECT_EQ(some.ranks.size(), 1u);
    options.every_rank = true;
    SimulationResult all = plan.Simulate(options);
    EXPECT_NEAR(some.step_ns, all.step_ns, 0.1 * all.step_ns) << elements;
  }
}

TEST(SimulatorClasses, AnotherNumberOfWorkersIsThePlanOfThatNumber) {
  for (bool halving : {false, true})
    for (int to : {2, 3, 4, 6, 8, 12}) {
      const auto make = [&](int nodes) {
        CostPlan plan(nodes);
        plan.f.Delay(20'000, {{1, 1}});
        plan.AllReduce("g", 24 * 5000, {{0}},
                       halving ? testing::HalvingAllReduce(nodes, plan::SUM, 0)
                               : testing::RingAllReduce(nodes, plan::SUM, 0));
        return plan;
      };
      CostPlan from = make(4), wanted = make(to);
      SimulationOptions options = testing::Plain();
      const double expected = wanted.Simulate(options).step_ns;
      options.workers = to;
      EXPECT_EQ(from.Simulate(options).step_ns, expected) << halving << " " << to;
    }
}

}  // namespace
}  // namespace commsched
