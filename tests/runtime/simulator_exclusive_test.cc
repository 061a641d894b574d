// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exclusive exchanges in the simulator: by hand, and drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "plan/exclusive.h"
#include "tests/cases.h"
#include "tests/runtime/simulator_plans.h"
#include "tests/runtime/trace_spans.h"

namespace commsched::testing::exclusive {
namespace {

using runtime::SimulationOptions;
using runtime::SimulationResult;

constexpr uint64_t kFeature = uint64_t{1} << plan::FEATURE_EXCLUSIVE;

void MakeExclusive(CostPlan &plan, uint32_t instruction, uint64_t ns) {
  plan.plan.proto().set_required_features(plan.plan.proto().required_features() | kFeature);
  plan.f.proto()->mutable_instructions(int(instruction))->mutable_communicate()->set_exclusive_ns(ns);
}

// When rank 0 has received the last of it in the first step, in nanoseconds.
double EndOf(CostPlan &plan, SimulationOptions options, const std::string &name) {
  runtime::TraceRecorder trace{runtime::Clock::time_point()};
  options.steps = 1;
  options.trace = &trace;
  plan.Simulate(options);
  double end = -1;
  for (const Span &span : SpansOf(trace))
    if (span.rank == 0 && span.name == name && absl::StartsWith(span.track, "receive")) end = std::max(end, span.end * 1000);
  return end;
}

// An urgent ring of four ranks, and something long that is ready at the same time.
struct Both {
  CostPlan plan{4};
  uint32_t urgent, large;
  explicit Both(bool with_large = true) {
    plan.f.Delay(5000);
    urgent = plan.AllReduce("urgent", 4 * 250, {{0}}, {}, 1);
    large = with_large ? plan.AllReduce("large", 4 * 10'000'000, {{0}}, {}, 5) : 0;
  }
};

TEST(SimulatorExclusive, WhatIsLessUrgentWaits) {
  // Six rounds of 1000 bytes.
  const double alone = 5000 + 6 * (1000 + kAlpha);
  Both without(false), both;
  EXPECT_EQ(EndOf(without.plan, Plain(), "urgent"), alone);
  const double overtaken = EndOf(both.plan, Plain(), "urgent"), large = EndOf(both.plan, Plain(), "large");
  EXPECT_GT(overtaken, 5 * alone) << "a packet before each round";
  MakeExclusive(both.plan, both.urgent, 2001);
  EXPECT_EQ(EndOf(both.plan, Plain(), "urgent"), alone);
  // What it has waited for: nothing of it is lost.
  EXPECT_LE(EndOf(both.plan, Plain(), "large"), large + alone);
  // Of what is not less urgent nothing waits.
  both.plan.f.proto()->mutable_instructions(int(both.large))->set_priority(1);
  Both equal;
  equal.plan.f.proto()->mutable_instructions(int(equal.large))->set_priority(1);
  EXPECT_EQ(EndOf(both.plan, Plain(), "urgent"), EndOf(equal.plan, Plain(), "urgent"));
  EXPECT_EQ(EndOf(both.plan, Plain(), "large"), EndOf(equal.plan, Plain(), "large"));
}

TEST(SimulatorExclusive, ItHasEndedWithItsLastSlice) {
  constexpr int64_t kSlice = 512 << 10;
  SimulationOptions options = Plain();
  options.chunk_bytes = kSlice;
  double ends[2];
  for (const bool with_large : {false, true}) {
    CostPlan plan(4);
    plan.f.Delay(5000);
    const uint32_t urgent = plan.AllReduce("urgent", 4 * 4 * kSlice / 4, {{0}}, {}, 1);
    MakeExclusive(plan, urgent, 100'000'000);
    if (with_large) plan.AllReduce("large", 4 * 10'000'000, {{0}}, {}, 5);
    ends[with_large] = EndOf(plan, options, "urgent");
  }
  EXPECT_EQ(ends[1], ends[0]);
}

// Of exchanges that wait for each other, none is less urgent than itself.
TEST(SimulatorExclusive, OneAtATimeItMakesNoDifference) {
  const Cases cases = casesOf(60);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const int nodes = 2 + int(random() % 4);
    const auto exchanges = uint32_t(1 + random() % 4);
    SimulationOptions options;
    options.steps = 4;
    options.every_rank = true;
    options.engine_ns = int64_t(random() % 2 * 300);
    options.stragglers[0] = 1 + double(random() % 3);
    CostPlan plan(nodes);
    for (uint32_t i = 0; i < exchanges; ++i) {
      const FunctionBuilder::Wait before = i == 0 ? FunctionBuilder::Wait{2 * exchanges - 1, 1} : FunctionBuilder::Wait{2 * i - 1};
      plan.f.Delay(random() % 100'000, {before});
      auto phases = RingAllReduce(nodes, plan::SUM, 0);
      for (plan::Phase &phase : phases) phase.set_priority(int32_t(random() % 5));
      plan.AllReduce("g" + std::to_string(i), int64_t(1 + random() % 1'000'000), {{2 * i}}, phases);
    }
    const SimulationResult without = plan.Simulate(options);
    for (uint32_t i = 0; i < exchanges; ++i) MakeExclusive(plan, 2 * i + 1, plan::kMostPatience);
    EXPECT_EQ(plan.Simulate(options).ends_ns, without.ends_ns);
  }
}

TEST(SimulatorExclusive, TheLeastUrgentOfItsPhasesCounts) {
  Both both;
  MakeExclusive(both.plan, both.urgent, 1'000'000);
  plan::Communicate *c = both.plan.f.proto()->mutable_instructions(int(both.urgent))->mutable_communicate();
  ASSERT_EQ(c->phases_size(), 2);
  c->mutable_phases(1)->set_priority(5);
  // The large one waits for the phase of its own priority as little as without.
  Both equal;
  plan::Communicate *without = equal.plan.f.proto()->mutable_instructions(int(equal.urgent))->mutable_communicate();
  without->mutable_phases(1)->set_priority(5);
  EXPECT_EQ(EndOf(both.plan, Plain(), "urgent"), EndOf(equal.plan, Plain(), "urgent"));
  // It is less urgent than both.
  for (Both *each : {&both, &equal}) each->plan.f.proto()->mutable_instructions(int(each->large))->set_priority(6);
  EXPECT_EQ(EndOf(both.plan, Plain(), "urgent"), 5000 + 6 * (1000 + kAlpha));
  EXPECT_GT(EndOf(equal.plan, Plain(), "urgent"), 5000 + 6 * (1000 + kAlpha));
}

TEST(SimulatorExclusive, WhatIsHeldBackGoesWhenThePatienceIsOver) {
  // Of two ranks one is late with all it has by nine times.
  CostPlan plan(2);
  plan.f.Delay(100'000);
  const uint32_t urgent = plan.AllReduce("urgent", 250, {{0}}, DoublingAllReduce(2, plan::SUM), 1);
  plan.f.Delay(100'000);
  plan.AllReduce("large", 25'000, {{2}}, DoublingAllReduce(2, plan::SUM), 5);
  SimulationOptions options = Plain();
  options.every_rank = true;
  options.stragglers[1] = 10;
  // When rank 0 has sent the large one, of 100 us.
  const auto sent = [&] {
    runtime::TraceRecorder trace{runtime::Clock::time_point()};
    SimulationOptions traced = options;
    traced.steps = 1;
    traced.trace = &trace;
    plan.Simulate(traced);
    double end = -1;
    for (const Span &span : SpansOf(trace))
      if (span.rank == 0 && span.name == "large" && absl::StartsWith(span.track, "send")) end = std::max(end, span.end * 1000);
    return end;
  };
  const double free = sent();
  MakeExclusive(plan, urgent, 300'000);
  const double held = sent();
  // Rank 0 begins the urgent one at 100 us and the large one at 200 us; the patience is over at 400 us.
  EXPECT_EQ(free, 300'000);
  EXPECT_EQ(held, 500'000);
  MakeExclusive(plan, urgent, plan::kMostPatience);
  // Rank 1 begins the urgent one at 1 ms.
  EXPECT_EQ(sent(), 1'000'000 + 1000 + kAlpha + 100'000);
}

// --- Drawn ------------------------------------------------------------------------

// Steps of layers, as in simulator_classes_test.cc.
struct Drawn {
  CostPlan plan;
  std::vector<uint32_t> exchanges;
  SimulationOptions options;
};

Drawn Draw(std::mt19937_64 &random) {
  const auto draw = [&](uint64_t least, uint64_t most) { return least + random() % (most - least + 1); };
  const int nodes = int(draw(2, 6));
  Drawn drawn{CostPlan(nodes), {}, {}};
  CostPlan &plan = drawn.plan;
  const auto layers = uint32_t(draw(1, 6));
  for (uint32_t i = 0; i < layers; ++i) {
    std::vector<FunctionBuilder::Wait> waits;
    if (i > 0) waits.push_back({2 * i - 2});
    for (uint32_t j = 0; j < layers; ++j)
      if (draw(0, 2) == 0) waits.push_back({2 * j + 1, 1});
    if (i > 0 && draw(0, 3) == 0) waits.push_back({2 * uint32_t(draw(0, i - 1)) + 1});
    const uint32_t delay = plan.f.Delay(draw(0, 300'000), waits);
    auto phases = draw(0, 1) == 1 ? HalvingAllReduce(nodes, plan::SUM, 0) : RingAllReduce(nodes, plan::SUM, 0);
    for (plan::Phase &phase : phases)
      if (draw(0, 2) == 0) phase.set_priority(int32_t(draw(0, 5)));
    drawn.exchanges.push_back(plan.AllReduce("g" + std::to_string(i), int64_t(draw(1, draw(0, 5) == 0 ? 2'000'000 : 100'000)),
                                             {{delay}, {2 * i + 1, 1}}, phases, int(draw(0, 5))));
  }
  if (draw(0, 2) == 0) plan.f.proto()->set_credit_bytes(draw(1, 200'000));
  SimulationOptions &options = drawn.options;
  options.steps = draw(1, 6);
  options.eager_bytes = draw(0, 1) * 65536;
  options.chunk_bytes = draw(0, 8) * 65536;
  options.socket_bytes = draw(0, 2) * 65536;
  options.overhead_ns = int64_t(draw(0, 1) * 700);
  options.engine_ns = int64_t(draw(0, 1) * 300);
  options.every_rank = draw(0, 1) == 1;
  options.in_order = draw(0, 5) == 0;
  options.jitter = draw(0, 3) == 0 ? 0.5 : 0;
  // One rank is late.
  if (draw(0, 1) == 1) options.stragglers[int(draw(0, uint64_t(nodes) - 1))] = double(draw(1, 40));
  return drawn;
}

// One message from a rank to another.
plan::Phase Message(int from, int to) {
  const auto side = [](int who, int peer) {
    return MakeSide(Constant(0), Constant(1), Constant(peer), {Rank() + Constant(-who), Constant(who) + Rank() * -1});
  };
  plan::Phase phase;
  phase.set_chunks(1);
  phase.set_rounds(1);
  *phase.mutable_send() = side(from, to);
  *phase.mutable_recv() = side(to, from);
  return phase;
}

// Chains of messages that are not urgent, and an urgent exchange of all ranks behind them, each on a device of its own. Who has
// no part in the messages of one may be at its urgent exchange, and hold back messages of the other that a third rank
// waits for, while a fourth does the same the other way round: then none goes on before the patience is over.
Drawn DrawChains(std::mt19937_64 &random) {
  const auto draw = [&](uint64_t least, uint64_t most) { return least + random() % (most - least + 1); };
  const int nodes = int(draw(3, 5));
  const auto chains = uint32_t(draw(2, 3));
  Drawn drawn{CostPlan(nodes), {}, {}};
  CostPlan &plan = drawn.plan;
  plan.plan.proto().mutable_cluster()->set_devices(chains);
  for (uint32_t chain = 0; chain < chains; ++chain) {
    const uint32_t delay = plan.f.Delay(draw(0, 300'000), {{3 * chain + 2, 1}});
    plan.f.proto()->mutable_instructions(int(delay))->set_device(chain);
    const auto from = int(draw(0, uint64_t(nodes) - 1));
    const uint32_t less = plan.AllReduce("less" + std::to_string(chain), int64_t(draw(1, 100'000)), {{delay}},
                                         {Message(from, (from + int(draw(1, uint64_t(nodes) - 1))) % nodes)}, int(draw(4, 6)));
    plan.f.proto()->mutable_instructions(int(less))->mutable_communicate()->set_source_op("permute");
    drawn.exchanges.push_back(plan.AllReduce("urgent" + std::to_string(chain), int64_t(draw(1, 1000)), {{less}}, {}, int(draw(0, 3))));
  }
  drawn.options.steps = 4;
  drawn.options.jitter = 0.9;
  drawn.options.jitter_seed = draw(0, 1000);
  drawn.options.every_rank = true;
  return drawn;
}

struct Simulated {
  SimulationResult result;
  // Of each message of each link: rank, track, name, step, bytes.
  std::vector<std::tuple<int, int, int, std::string, uint64_t, uint64_t>> messages;
};

Simulated RunOf(Drawn &drawn) {
  Simulated run;
  runtime::TraceRecorder trace{runtime::Clock::time_point()};
  drawn.options.trace = &trace;
  run.result = drawn.plan.Simulate(drawn.options);
  for (const runtime::TraceSpan &span : trace.spans())
    if (span.track == runtime::TraceSpan::kSend || span.track == runtime::TraceSpan::kReceive)
      run.messages.emplace_back(span.rank, int(span.track), span.peer, span.name, span.step, span.bytes);
  std::sort(run.messages.begin(), run.messages.end());
  return run;
}

// Ranks that hold back what others wait for go on all the same, and everything goes once.
TEST(SimulatorExclusive, EverythingGoesWhateverIsExclusive) {
  int slower = 0, faster = 0;
  const Cases cases = casesOf(250);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Drawn drawn = Draw(random);
    const Simulated without = RunOf(drawn);
    // The feature alone makes no difference.
    for (uint32_t exchange : drawn.exchanges) MakeExclusive(drawn.plan, exchange, 0);
    const Simulated none = RunOf(drawn);
    ASSERT_EQ(none.result.ends_ns, without.result.ends_ns);
    ASSERT_EQ(none.result.events, without.result.events);
    ASSERT_EQ(none.messages, without.messages);
    for (uint32_t exchange : drawn.exchanges) {
      const uint64_t patiences[] = {0, 1, 1000, random() % 1'000'000, random() % 50'000'000, uint64_t(plan::kMostPatience)};
      MakeExclusive(drawn.plan, exchange, patiences[random() % std::size(patiences)]);
    }
    const Simulated some = RunOf(drawn);
    ASSERT_EQ(some.result.ends_ns.size(), drawn.options.steps);
    ASSERT_EQ(some.messages, without.messages);
    EXPECT_EQ(some.result.messages, without.result.messages);
    slower += some.result.total_ns > without.result.total_ns + 20;
    faster += some.result.total_ns < without.result.total_ns - 20;
    const Simulated again = RunOf(drawn);
    ASSERT_EQ(again.result.ends_ns, some.result.ends_ns);
    if (HasFailure()) return;
  }
  RecordProperty("slower", slower);
  RecordProperty("faster", faster);
  if (cases.count() < 50) return;
  EXPECT_GT(slower, 0);
  EXPECT_GT(faster, 0);
}

TEST(SimulatorExclusive, RanksThatWaitForEachOtherGoOnWhenThePatienceIsOver) {
  constexpr uint64_t kPatience = 100'000'000;
  int stood_still = 0;
  const Cases cases = casesOf(300);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Drawn drawn = DrawChains(random);
    const Simulated without = RunOf(drawn);
    for (uint32_t exchange : drawn.exchanges) MakeExclusive(drawn.plan, exchange, kPatience);
    const Simulated some = RunOf(drawn);
    ASSERT_EQ(some.result.ends_ns.size(), drawn.options.steps);
    ASSERT_EQ(some.messages, without.messages);
    stood_still += some.result.total_ns >= double(kPatience);
    // Each exchange stands still once for each of its messages at most.
    EXPECT_LE(some.result.total_ns, without.result.total_ns + 4.0 * kPatience * double(some.messages.size()));
  }
  if (cases.count() < 50) return;
  EXPECT_GT(stood_still, int(cases.count() / 10));
}

}  // namespace
}  // namespace commsched::testing::exclusive
