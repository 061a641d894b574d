// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/issue_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/cuda/host_lanes.h"
#include "runtime/cuda/staging_ring.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/orders.h"
#include "tests/runtime/cuda/random_graph.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// No wait too few and none too many: those of each round are the orders with nothing between.
TEST(CudaIssuePlan, HasTheFewestWaits) {
  const Cases cases = casesOf(400);
  uint64_t waits = 0, previous = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    const GraphCase graph_case = RandomGraph(random);
    const absl::StatusOr<IssuePlan> plan = PlanIssue(graph_case.graph);
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::set<OrderedPair> given;
    std::set<uint32_t> awaited;
    for (uint32_t op = 0; op < plan->ops.size(); ++op) {
      for (const Dependence &on : plan->ops[op].waits) {
        for (uint64_t round = on.previous ? 1 : 0; round < kRoundsOfOrders; ++round)
          given.insert({{on.op, round - (on.previous ? 1 : 0)}, {op, round}});
        awaited.insert(on.op);
        ++waits;
        previous += on.previous ? 1 : 0;
      }
    }
    ASSERT_EQ(given, Orders::Asked(graph_case.graph).Direct()) << "seed " << seed;
    for (uint32_t op = 0; op < plan->ops.size(); ++op)
      ASSERT_EQ(plan->ops[op].signals, awaited.count(op) == 1) << "seed " << seed;
    ASSERT_EQ(plan->signals(), awaited.size());
  }
  EXPECT_GT(waits, cases.count());
  EXPECT_GT(previous, cases.count() / 4);
}

StepGraph TwoStreams() {
  StepGraph graph;
  graph.lanes = {
      {"compute", LaneKind::kCompute}, {"nccl", LaneKind::kNccl}, {"host", LaneKind::kHost}};
  return graph;
}

TEST(CudaIssuePlan, CountsTheEventsThatAreTold) {
  StepGraph graph = TwoStreams();
  graph.ops = {{"a", 0, {}, {{0, 0, 8}}, {}}, {"b", 1, {{0, 0, 8}}, {}, {}}};
  IssuePlan plan = *PlanIssue(graph);
  // "b" waits for "a", and the next "a" for "b".
  ASSERT_EQ(plan.waits(), 2);
  EXPECT_EQ(plan.ops[0].events, 1);
  EXPECT_EQ(plan.ops[1].events, 1);
  // "b" waits for the "a" before the one that has just been enqueued.
  graph.ops = {{"a", 0, {}, {}, {}}, {"b", 1, {}, {}, {{0, true}}}};
  plan = *PlanIssue(graph);
  EXPECT_EQ(plan.ops[0].events, 2);
  // The host may be two rounds behind.
  graph.ops = {
      {"a", 0, {}, {}, {}}, {"b", 2, {}, {}, {{0, false}}}, {"c", 1, {}, {}, {{1, false}}}};
  plan = *PlanIssue(graph);
  EXPECT_EQ(plan.ops[0].events, kRoundsInFlight);
  EXPECT_TRUE(plan.ops[1].signals);
  EXPECT_EQ(plan.ops[1].events, 0);  // a flag
  graph.ops[1].after = {{0, true}};
  EXPECT_EQ(PlanIssue(graph)->ops[0].events, kRoundsInFlight + 1);
}

TEST(CudaIssuePlan, RefusesWhatIsNoGraph) {
  const auto error = [](Op op) {
    StepGraph graph = TwoStreams();
    graph.ops = {{"first", 0, {}, {{0, 0, 8}}, {}}, std::move(op)};
    return std::string(PlanIssue(graph).status().message());
  };
  EXPECT_EQ(error({"x", 3, {}, {}, {}}), "op \"x\" must be on one of 3 lanes, got: 3");
  EXPECT_EQ(error({"x", 0, {}, {}, {{2, false}}}), "op \"x\" must wait for one of 2 ops, got: 2");
  EXPECT_EQ(error({"x", 0, {}, {}, {{1, false}}}),
            "op \"x\" must wait for an op before it, got: \"x\"");
  EXPECT_EQ(error({"x", 0, {{0, 8, 0}}, {}, {}}),
            "op \"x\" must use 1 byte or more below 2^64, got: 0 from 8");
  EXPECT_THAT(error({"x", 0, {}, {{0, UINT64_MAX, 2}}, {}}), HasSubstr("below 2^64, got: 2"));
  EXPECT_EQ(error({"x", 1, {{0, 0, 8}}, {}, {{0, false}, {1, true}}}), "");
  EXPECT_TRUE(PlanIssue({})->ops.empty());
}

TEST(CudaHostLanes, BeginsWhatMayBegin) {
  StepGraph graph = TwoStreams();
  graph.ops = {
      {"copy", 0, {}, {{1, 0, 8}}, {}}, {"send", 2, {{1, 0, 8}}, {}, {}}, {"again", 2, {}, {}, {}}};
  const IssuePlan plan = *PlanIssue(graph);
  HostLanes lanes(graph, plan);
  EXPECT_TRUE(lanes.Idle());
  EXPECT_THAT(lanes.TakeReady(), IsEmpty());
  lanes.Enqueued();
  lanes.Enqueued();
  EXPECT_FALSE(lanes.MayEnqueue());
  EXPECT_THAT(lanes.Awaited(), ElementsAre(OpOfRound{0, 0}));
  EXPECT_THAT(lanes.TakeReady(), IsEmpty());
  lanes.Ended({0, 0});
  EXPECT_THAT(lanes.Awaited(), IsEmpty());
  EXPECT_THAT(lanes.TakeReady(), ElementsAre(OpOfRound{1, 0}));
  EXPECT_THAT(lanes.TakeReady(), IsEmpty());
  lanes.Ended({1, 0});
  EXPECT_THAT(lanes.TakeReady(), ElementsAre(OpOfRound{2, 0}));
  EXPECT_FALSE(lanes.MayEnqueue());
  lanes.Ended({2, 0});
  EXPECT_TRUE(lanes.MayEnqueue());
  EXPECT_FALSE(lanes.Idle());
  EXPECT_THAT(lanes.Awaited(), ElementsAre(OpOfRound{0, 1}));
}

// Places lie in the ring and at multiples of the alignment, and go around it: a buffer overlaps
// none of those that fit into the ring together with it, one behind the other.
TEST(CudaStagingRing, GoesAround) {
  const Cases cases = casesOf(200);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    const uint64_t alignment = uint64_t{1} << random() % 6, ring = 1 + random() % 500;
    StagingRing places(ring, alignment);
    uint64_t end = 0, around = 0;
    for (int i = 0; i < 100; ++i) {
      const uint64_t bytes = 1 + random() % ring;
      const uint64_t place = *places.Place(bytes);
      ASSERT_LE(place + bytes, ring);
      ASSERT_EQ(place % alignment, 0u);
      if (place < end) {
        // Only where it would not have fitted behind the one before.
        ASSERT_EQ(place, 0u);
        ASSERT_GT((end + alignment - 1) / alignment * alignment + bytes, ring);
        ++around;
      } else {
        ASSERT_LT(place - end, alignment);
      }
      end = place + bytes;
    }
    ASSERT_GT(around, 0u);
    EXPECT_EQ(places.Place(ring + 1).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
