// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator against times that are reckoned by hand.
#include "runtime/simulator/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/runtime/all_to_all.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/simulator_plans.h"
#include "tests/runtime/trace_spans.h"

namespace commsched {
namespace {

using runtime::SimulationOptions;
using runtime::SimulationResult;
using testing::CostPlan;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using testing::kAlpha;
using testing::Plain;
using testing::Span;
using testing::operator+;

// Two ranks give each other all of the tensor at once.
std::vector<plan::Phase> Swap() { return testing::DoublingAllReduce(2, plan::SUM); }

// Compute, an all-reduce, and the next step waits for it.
CostPlan Chain(int nodes, uint64_t ns, int64_t elements) {
  CostPlan plan(nodes);
  plan.f.Delay(ns, {{1, 1}});
  plan.AllReduce("g", elements, {{0}});
  return plan;
}

// Of rank 0.
std::vector<Span> SpansOf(CostPlan &plan, SimulationOptions options,
                          const std::string &track, const std::string &name) {
  runtime::TraceRecorder trace{runtime::Clock::time_point()};
  options.trace = &trace;
  plan.Simulate(options);
  std::vector<Span> found;
  for (const Span &span : testing::SpansOf(trace))
    if (span.rank == 0 && absl::StartsWith(span.track, track) && span.name == name)
      found.push_back(span);
  return found;
}

TEST(Simulator, OneMessageTakesItsBytesAndTheLatency) {
  CostPlan plan(2);
  plan.f.Delay(5000, {{1, 1}});
  plan.AllReduce("g", 250, {{0}}, Swap());
  SimulationResult result = plan.Simulate(Plain());
  EXPECT_EQ(result.step_ns, 5000 + 1000 + kAlpha);
  EXPECT_EQ(result.first_step_ns, result.step_ns);
  EXPECT_TRUE(result.steady);
  EXPECT_EQ(result.compute_ns, 5000);
  EXPECT_EQ(result.exposed_ns, 1000 + kAlpha);
  EXPECT_EQ(result.ranks[0].up.bytes_per_step, 1000);
  EXPECT_THAT(result.ranks[0].up.utilization, DoubleNear(1.0 / 7, 1e-9));
}

TEST(Simulator, OverheadOccupiesTheLinkAndLatencyDoesNot) {
  CostPlan plan(2);
  plan.f.Delay(5000, {{1, 1}, {2, 1}});
  plan.AllReduce("a", 250, {{0}}, Swap());
  plan.AllReduce("b", 250, {{0}}, Swap());
  SimulationOptions options = Plain();
  options.chunk_bytes = 1000;  // a message each packet
  EXPECT_EQ(plan.Simulate(options).step_ns, 5000 + 2000 + kAlpha);
  options.overhead_ns = 300;
  EXPECT_EQ(plan.Simulate(options).step_ns, 5000 + 2600 + kAlpha);
}

TEST(Simulator, LinkOnWhichBytesTakeNoTime) {
  // Where a millionth of a nanosecond is more than the rest of a message, too.
  for (uint64_t mbit : {uint64_t{10'000'000}, uint64_t{1'000'000'000'000}, uint64_t{1'000'000'000'000'000'000}})
    for (int64_t elements : {1, 25, 250, 100'000}) {
      CostPlan plan(2);
      plan.f.Delay(5000, {{1, 1}});
      plan.AllReduce("g", elements, {{0}}, Swap());
      plan.plan.proto().mutable_cluster()->set_inter_mbit_per_s(mbit);
      const double bytes_ns = 32'000.0 * double(elements) / double(mbit);
      EXPECT_NEAR(plan.Simulate(Plain()).step_ns, 5000 + bytes_ns + kAlpha, 1) << mbit << " " << elements;
    }
}

TEST(Simulator, RingTakesItsRounds) {
  for (int n = 2; n <= 7; ++n)
    for (bool every : {false, true}) {
      SimulationOptions options = Plain();
      options.every_rank = every;
      const int64_t bytes = 4 * 2520 * 100;
      CostPlan plan = Chain(n, 10'000, bytes / 4);
      EXPECT_EQ(plan.Simulate(options).step_ns, 10'000 + 2 * (n - 1) * (kAlpha + bytes / n))
          << n;
    }
}

TEST(Simulator, SlicesOfLongMessagesFillTheLink) {
  // Four of half a MiB: a round begins while the one before is on its way, but for
  // the last slice of the last one.
  constexpr int64_t kSlice = 512 << 10;
  SimulationOptions options = Plain();
  options.chunk_bytes = kSlice;
  for (bool every : {false, true}) {
    options.every_rank = every;
    CostPlan plan = Chain(4, 10'000, 4 * 4 * kSlice / 4);
    const SimulationResult result = plan.Simulate(options);
    EXPECT_EQ(result.step_ns, 10'000 + 6 * 4 * kSlice + kAlpha);
    EXPECT_EQ(result.ranks[0].up.bytes_per_step, 6 * 4 * kSlice);
  }
}

TEST(Simulator, AnnouncedMessagesWaitForTheReceiver) {
  // Each round: the receiver's grant takes the latency, then the bytes.
  SimulationOptions options = Plain();
  options.eager_bytes = 64 << 10;
  CostPlan plan = Chain(4, 10'000, 1'000'000);
  EXPECT_EQ(plan.Simulate(options).step_ns, 10'000 + 6 * (2 * kAlpha + 1'000'000));
}

TEST(Simulator, UrgentMessageOvertakesBetweenPackets) {
  CostPlan plan(2);
  plan.f.Delay(100, {{3, 1}, {2, 1}});
  plan.f.Delay(2'000'000, {{0}});
  plan.AllReduce("large", 2'500'000, {{0}}, Swap(), 5);
  plan.AllReduce("urgent", 250, {{1}}, Swap(), 1);
  // It comes at 2000100, while the second packet of 1 MiB is on the wire.
  SimulationOptions options = Plain(1);
  auto urgent = SpansOf(plan, options, "receive from 1", "urgent");
  ASSERT_EQ(urgent.size(), 1u);
  // What is not as urgent fills up a small packet, which is there when all of it is.
  const double packet = 1'048'576, shared = plan::kSmallPacket;
  EXPECT_DOUBLE_EQ(urgent[0].end, (100 + 2 * packet + shared + kAlpha) / 1000);
  // A socket that takes more cannot be overtaken.
  options.socket_bytes = 2 << 20;
  urgent = SpansOf(plan, options, "receive from 1", "urgent");
  EXPECT_DOUBLE_EQ(urgent[0].end, (100 + 4 * packet + shared + kAlpha) / 1000);
  // Nor can what stands in a queue of the link.
  options.socket_bytes = 0;
  options.queue_ns = 2 << 20;
  urgent = SpansOf(plan, options, "receive from 1", "urgent");
  EXPECT_DOUBLE_EQ(urgent[0].end, (100 + 4 * packet + shared + kAlpha) / 1000);
  options.queue_ns = 0;
  plan.f.proto()->mutable_instructions(3)->set_priority(9);
  urgent = SpansOf(plan, options, "receive from 1", "urgent");
  EXPECT_DOUBLE_EQ(urgent[0].end, (100 + 10'001'000 + kAlpha) / 1000.0);
}

TEST(Simulator, TheLastOfSomeStepsIsNone) {
  // What is not urgent gives way to the next step's urgent message; behind the last step it does not, which is shorter.
  CostPlan plan(2);
  plan.f.Delay(1'000'000, {{1, 1}});
  plan.AllReduce("urgent", 500'000, {{0}}, Swap(), 0);
  plan.f.Delay(1'000'000, {{0}, {3, 1}});
  plan.AllReduce("later", 1'000'000, {{2}}, Swap(), 1);
  const double steady = plan.Simulate(Plain(0)).step_ns;
  const SimulationResult some = plan.Simulate(Plain(8));
  ASSERT_EQ(some.ends_ns.size(), 8u);
  EXPECT_LT(some.ends_ns[7] - some.ends_ns[6], steady);
  EXPECT_EQ(some.step_ns, steady);
}

TEST(Simulator, CreditHoldsMessagesBack) {
  CostPlan plan(2);
  plan.f.Delay(1000, {{1, 1}, {2, 1}});
  plan.AllReduce("a", 500, {{0}}, Swap(), 1);
  plan.AllReduce("b", 500, {{0}}, Swap(), 2);
  SimulationOptions options = Plain(1);
  options.chunk_bytes = 2000;
  auto b = SpansOf(plan, options, "send to 1", "b");
  ASSERT_EQ(b.size(), 1u);
  EXPECT_DOUBLE_EQ(b[0].begin, 1);
  plan.f.proto()->set_credit_bytes(3000);
  b = SpansOf(plan, options, "send to 1", "b");
  ASSERT_EQ(b.size(), 1u);
  EXPECT_DOUBLE_EQ(b[0].begin, 3);
  // Not those that overtake what is on its way.
  CostPlan later(2);
  later.f.Delay(1000, {{2, 1}});
  later.f.Delay(500, {{3, 1}});
  later.AllReduce("a", 500, {{0}}, Swap(), 2);
  later.AllReduce("b", 500, {{1}}, Swap(), 1);
  later.f.proto()->set_credit_bytes(3000);
  b = SpansOf(later, options, "send to 1", "b");
  ASSERT_EQ(b.size(), 1u);
  EXPECT_DOUBLE_EQ(b[0].begin, 1.5);
}

TEST(Simulator, StepsOverlap) {
  // The all-reduce is not awaited by the next compute: two steps are in flight.
  CostPlan plan(2);
  plan.f.Delay(1000, {});
  plan.AllReduce("g", 1000, {{0}}, Swap());
  SimulationResult result = plan.Simulate(Plain());
  EXPECT_EQ(result.step_ns, 4000);  // the link is always busy
  EXPECT_EQ(result.first_step_ns, 1000 + 4000 + kAlpha);
  EXPECT_THAT(result.ranks[0].down.utilization, DoubleNear(1, 1e-6));
}

TEST(Simulator, StragglerHoldsUpTheRing) {
  CostPlan plan = Chain(5, 100'000, 5 * 250);
  SimulationOptions options = Plain();
  options.stragglers[3] = 2.5;
  SimulationResult result = plan.Simulate(options);
  // The messages of rounds 0 to 3 wait for it. What it sends in round 0 comes back
  // after 5 hops, in round 4; what it sends in rounds 1 to 3, each when the one
  // before has left, in rounds 5 to 7.
  EXPECT_EQ(result.step_ns, 250'000 + 5 * (kAlpha + 1000) + 3 * 1000);
  EXPECT_EQ(result.ranks.size(), 5u);
  EXPECT_EQ(result.compute_ns, 250'000);
  EXPECT_EQ(result.ranks[0].compute_ns, 100'000);
}

TEST(Simulator, UnequalLinks) {
  // Rank 0 sends at a quarter. In round 2 it begins when its socket has taken
  // round 1, so the second message follows the first without a gap.
  CostPlan plan = Chain(2, 10'000, 500'000);
  SimulationOptions options = Plain(1);
  options.links[0] = {2000, 8000};
  SimulationResult result = plan.Simulate(options);
  EXPECT_EQ(result.step_ns, 10'000 + 2 * 4'000'000 + kAlpha);
  options.links[0] = {8000, 2000};  // receives at a quarter
  EXPECT_EQ(plan.Simulate(options).step_ns, 10'000 + 2 * 4'000'000 + kAlpha);
}

TEST(Simulator, FlowsShareALink) {
  // Rank 0 sends to ranks 1 and 2 at once, rank 2 to rank 1 as well: what enters
  // rank 1 is shared by two, what leaves rank 0 too.
  CostPlan plan(3);
  const auto send = [&](int from, int to) {
    plan::Phase phase = testing::RingAllReduce(3, plan::SUM, 0)[0];
    phase.set_chunks(1);
    phase.set_rounds(1);
    const auto side = [&](plan::Side *s, int self, int peer) {
      s->clear_condition();
      *s->mutable_begin() = testing::Constant(0);
      *s->mutable_count() = testing::Constant(1);
      *s->mutable_peer() = testing::Constant(peer);
      plan::Constraint *c = s->add_condition();
      *c->mutable_expr() = testing::Rank() + testing::Constant(-self);
      c->set_equality(true);
    };
    side(phase.mutable_send(), from, to);
    side(phase.mutable_recv(), to, from);
    return std::vector<plan::Phase>{phase};
  };
  plan.f.Delay(0, {});
  plan.AllReduce("a", 250'000, {{0}}, send(0, 1));
  plan.AllReduce("b", 250'000, {{0}}, send(0, 2));
  plan.AllReduce("c", 250'000, {{0}}, send(2, 1));
  // All go at half the rate: rank 0's way out and rank 1's way in have two each.
  EXPECT_EQ(plan.Simulate(Plain(1)).step_ns, 2'000'000 + kAlpha);
  // Rank 1 takes in a quarter of a byte in a nanosecond: an eighth for each of a
  // and c. What they leave of rank 0's way out is b's: 7/8.
  SimulationOptions options = Plain(1);
  options.links[1] = {8000, 2000};
  auto b = SpansOf(plan, options, "send to 2", "b");
  ASSERT_EQ(b.size(), 1u);
  EXPECT_NEAR(b[0].end, 1e6 * 8 / 7 / 1000, 0.002);
  EXPECT_NEAR(plan.Simulate(options).step_ns, 8'000'000 + kAlpha, 2);
}

TEST(Simulator, BucketLetsThroughWhatWasSaved) {
  CostPlan plan = Chain(2, 10'000, 500'000);
  SimulationOptions options = Plain(1);
  options.burst_bytes = 300'000;
  // Round 1 passes 300000 bytes at once; in round 2 the bucket has what came in
  // during the latency.
  EXPECT_NEAR(plan.Simulate(options).step_ns,
              10'000 + (1'000'000 - 300'000) + kAlpha + (1'000'000 - kAlpha) + kAlpha, 3);
}

TEST(Simulator, WhatIf) {
  CostPlan plan = Chain(4, 80'000, 1'000'000);
  SimulationOptions options = Plain();
  const auto step = [&](const std::string &text) {
    SimulationOptions o = options;
    EXPECT_TRUE(ParseWhatIf(text, &o).ok()) << text;
    return plan.Simulate(o).step_ns;
  };
  EXPECT_EQ(step("bandwidth=2"), 80'000 + 6 * (kAlpha + 500'000));
  EXPECT_EQ(step("latency=3"), 80'000 + 6 * (3 * kAlpha + 1'000'000));
  EXPECT_EQ(step("compute=2,bandwidth=4"), 40'000 + 6 * (kAlpha + 250'000));
  EXPECT_EQ(step("workers=8"), 80'000 + 14 * (kAlpha + 500'000));
  EXPECT_EQ(step("workers=1"), 80'000);
  EXPECT_EQ(step("workers=8,algorithm=halving-doubling"),
            80'000 + 2 * (3 * kAlpha + 3'500'000));
  // Whole tensors are long enough for slices.
  EXPECT_EQ(step("workers=8,algorithm=recursive-doubling"),
            80'000 + 3 * 4'000'000 + kAlpha);
  // Few ranks, and so many bytes.
  EXPECT_EQ(step("workers=5,algorithm=auto"), step("workers=5"));
  EXPECT_EQ(step("workers=5"), 80'000 + 8 * (kAlpha + 800'000));
  // Of those of the plan, too.
  EXPECT_EQ(step("algorithm=ring"), step("bandwidth=1"));
  EXPECT_EQ(step("algorithm=halving-doubling"), 80'000 + 2 * (2 * kAlpha + 3'000'000));
  EXPECT_EQ(step("workers=4,algorithm=halving-doubling"), step("algorithm=halving-doubling"));
}

TEST(Simulator, TenThousandRanksOfARing) {
  CostPlan plan = Chain(4, 80'000, 25'000'000);
  SimulationOptions options = Plain();
  options.workers = 10'000;
  SimulationResult result = plan.Simulate(options);
  EXPECT_EQ(result.step_ns, 80'000 + 2.0 * 9999 * (kAlpha + 10'000));
  ASSERT_EQ(result.ranks.size(), 1u);
  EXPECT_EQ(result.ranks[0].ranks, 10'000);
}

TEST(Simulator, ParameterServersUpdateWhenAllHavePushed) {
  testing::ServerPlanOptions of;
  of.trainers = 3;
  auto plan = testing::ServerPlan(of);
  plan.proto().mutable_cluster()->set_inter_mbit_per_s(8);  // a microsecond a byte
  plan.proto().mutable_cluster()->set_inter_latency_ns(0);
  plan.proto().mutable_cluster()->set_device_gflops(0);
  plan.proto().mutable_cluster()->set_device_gb_per_s(0);
  auto image = runtime::PlanImage::Load(plan.Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  auto result = runtime::Simulate(**image, Plain());
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->ranks.size(), 3u);  // trainers, and the servers
  EXPECT_EQ(result->ranks[0].ranks, 3);
  EXPECT_TRUE(result->ranks[1].server);
  SimulationOptions ring = Plain();
  ring.algorithm = "ring";
  EXPECT_EQ(runtime::Simulate(**image, ring).status().message(),
            "algorithm must go with a plan that has all-reduces between ranks, got: ring");
  // A trainer pushes 12 + 8 + 7 floats in a step and gets as many. Server 1 has
  // the smaller part of w and b, and takes in what three trainers send.
  EXPECT_DOUBLE_EQ(result->ranks[0].up.bytes_per_step, 108);
  EXPECT_DOUBLE_EQ(result->ranks[0].down.bytes_per_step, 108);
  EXPECT_DOUBLE_EQ(result->ranks[2].down.bytes_per_step, 3 * 60);
  EXPECT_DOUBLE_EQ(result->ranks[2].up.bytes_per_step, 3 * 60);
  // In and out of server 1, one after the other: b of the next step is not needed
  // by its push.
  EXPECT_GE(result->step_ns, 180'000);
  EXPECT_LE(result->step_ns, 2 * 180'000);
  SimulationOptions every = Plain();
  every.every_rank = true;
  auto full = runtime::Simulate(**image, every);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(full->ranks.size(), 5u);
  EXPECT_NEAR(full->step_ns, result->step_ns, 2);
  every.in_order = true;
  EXPECT_EQ(runtime::Simulate(**image, every).status().message(),
            "communication in one order is simulated for collectives only: the plan has parameter "
            "servers");
}

TEST(Simulator, HalfAsynchronousTrainersSendOnceForSeveralSteps) {
  for (uint32_t merge : {1, 2, 6}) {
    testing::ServerPlanOptions of;
    of.trainers = 3;
    of.mode = plan::ParameterServers::HALF_ASYNC;
    of.merge = merge;
    auto plan = testing::ServerPlan(of);
    plan.proto().mutable_cluster()->set_inter_mbit_per_s(8);
    plan.proto().mutable_cluster()->set_inter_latency_ns(0);
    plan.proto().mutable_cluster()->set_device_gflops(0);
    plan.proto().mutable_cluster()->set_device_gb_per_s(0);
    auto image = runtime::PlanImage::Load(plan.Bytes());
    ASSERT_TRUE(image.ok()) << image.status();
    SimulationOptions options = Plain();
    options.steps = 12 * merge + 1;
    auto result = runtime::Simulate(**image, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->ranks[0].up.bytes_per_step, 108.0 / merge, 12.0 / merge);
    EXPECT_NEAR(result->ranks[0].down.bytes_per_step, 108.0 / merge, 12.0 / merge);
    EXPECT_NEAR(result->ranks[2].down.bytes_per_step, 180.0 / merge, 20.0 / merge);
    options.every_rank = true;
    auto full = runtime::Simulate(**image, options);
    ASSERT_TRUE(full.ok()) << full.status();
    EXPECT_NEAR(full->step_ns, result->step_ns, 0.01 * result->step_ns + 2);
  }
}

TEST(Simulator, MeasuredCostsReplaceThePlans) {
  CostPlan plan = Chain(2, 10'000, 500'000);
  plan.f.proto()->mutable_instructions(0)->set_name("forward");
  SimulationOptions options = Plain();
  options.profile =
      R"({"format":"commsched profile","version":1,"module":"test","plan":"1","processes":[
        {"role":"worker","index":0,"functions":[{"name":"step","fragments":[
          {"label":"forward","device":0,"kind":"run","count":1,"median_ns":70000,"quiet_count":0}]}]}]})";
  options.calibration =
      R"({"format":"commsched calibration","version":1,"module":"test","exchanges":[],"compute":[],"links":[
        {"from":"rank 0","to":"rank 1","latency_ns":2000,"overhead_ns":0,"bits_per_s":16e9}]})";
  EXPECT_EQ(plan.Simulate(options).step_ns, 70'000 + 2 * (2000 + 500'000));
}

// 8000 bytes to the host and back, as the plan says, and as measured: at the rate of the slower direction.
TEST(Simulator, CopiesTakeWhatTheClusterOrTheCalibrationSays) {
  CostPlan plan = Chain(2, 10'000, 500'000);
  plan::Cluster &cluster = *plan.plan.proto().mutable_cluster();
  cluster.set_device_kind("cuda");
  const uint32_t from = plan.f.Arena(plan::F32, {2000}), to = plan.f.Arena(plan::F32, {2000});
  const uint32_t first = plan.f.Delay(0, {{0}});
  plan.f.proto()->mutable_instructions(int(first))->mutable_delay()->add_outputs(from);
  const uint32_t copy = plan.f.Copy(from, to, {{first}});
  auto *moved = plan.f.proto()->mutable_instructions(int(copy))->mutable_copy();
  moved->set_in_line(true);
  for (plan::CopyBuffer::Direction direction : {plan::CopyBuffer::TO_HOST, plan::CopyBuffer::TO_DEVICE}) {
    moved->set_direction(direction);
    const auto takes = [&](int64_t ns, const std::string &calibration) {
      SimulationOptions options = Plain();
      options.calibration = calibration;
      EXPECT_NEAR(plan.Simulate(options).ranks[0].compute_ns, 10'000 + ns, 1e-6);
    };
    cluster.set_device_gb_per_s(0);
    cluster.set_device_copy_mb_per_s(0);
    cluster.set_device_copy_latency_ns(0);
    takes(0, "");
    cluster.set_device_gb_per_s(2);
    takes(4000, "");
    cluster.set_device_copy_mb_per_s(1000);
    cluster.set_device_copy_latency_ns(70);
    takes(8070, "");
    takes(16'500, R"({"format":"commsched calibration","version":1,"module":"test","links":[],"exchanges":[],"compute":[],"nccl":[],"copies":[
        {"rank":0,"direction":"to_host","latency_ns":500,"both_bytes_per_s":500e6},
        {"rank":0,"direction":"to_device","latency_ns":600,"both_bytes_per_s":900e6}]})");
  }
}

TEST(Simulator, SameInputGivesTheSameResult) {
  CostPlan plan = Chain(6, 10'000, 1'000'003);
  SimulationOptions options;
  options.every_rank = true;
  SimulationResult a = plan.Simulate(options), b = plan.Simulate(options);
  a.seconds = b.seconds = 0;
  EXPECT_EQ(SimulationJson(a), SimulationJson(b));
}

// Every rank sends a part to every other one, one after the other.
TEST(Simulator, AllToAllOfAnyNumberOfRanks) {
  CostPlan plan(4);
  plan.f.Delay(5000, {{1, 1}});
  plan.AllReduce("g", 48'000, {{0}}, {testing::AllToAll(4)});
  plan.f.proto()->mutable_instructions(1)->mutable_communicate()->set_source_op("all_to_all");
  SimulationOptions options = Plain();
  for (bool every : {false, true}) {
    options.every_rank = every;
    options.workers = 0;
    EXPECT_EQ(plan.Simulate(options).step_ns, 5000 + 3 * (kAlpha + 24'000));
    options.workers = 6;
    SimulationResult six = plan.Simulate(options);
    EXPECT_EQ(six.step_ns, 5000 + 5 * (kAlpha + 16'000));
    EXPECT_DOUBLE_EQ(six.ranks[0].up.bytes_per_step, 5 * 16'000);
  }
}

std::string ErrorOf(CostPlan &plan, const SimulationOptions &options) {
  auto image = plan.Load();
  if (image == nullptr) return "";
  return std::string(runtime::Simulate(*image, options).status().message());
}

TEST(Simulator, RefusesWhatMakesNoSense) {
  CostPlan plan = Chain(2, 10'000, 500);
  SimulationOptions options;
  options.stragglers[2] = 3;
  EXPECT_EQ(ErrorOf(plan, options), "straggler must be a rank below 2, got: 2");
  options = {};
  options.links[5] = {1, 1};
  EXPECT_EQ(ErrorOf(plan, options), "link must be of a rank below 2, got: 5");
  options = {};
  options.profile = "{}";
  EXPECT_EQ(ErrorOf(plan, options),
            "profile format must be \"commsched profile\", got: \"\"");
  options = {};
  options.calibration = "[";
  EXPECT_EQ(ErrorOf(plan, options), "calibration is no JSON object");
  options = {};
  options.latency = 1e9;
  plan.plan.proto().mutable_cluster()->set_inter_latency_ns(3600'000'000'000);
  EXPECT_EQ(ErrorOf(plan, options), "latency of a link must be at most an hour, got: 4611686018427387904 ns");
  options = {};
  options.overhead_ns = int64_t{3600'000'000'001};
  EXPECT_EQ(ErrorOf(plan, options), "overhead of a link must be at most an hour, got: 3600000000001 ns");
  options = {};
  plan.plan.proto().mutable_cluster()->set_inter_mbit_per_s(0);
  EXPECT_THAT(ErrorOf(plan, options), HasSubstr("says no rate of its links"));
  CostPlan other(2);
  other.AllReduce("g", 10, {}, Swap());
  other.f.proto()->mutable_instructions(0)->mutable_communicate()->set_source_op("swap");
  options.workers = 4;
  EXPECT_EQ(ErrorOf(other, options),
            "swap \"g\" of 2 ranks cannot be made one of 4: its phases are not "
            "those of a known algorithm");
}

TEST(Simulator, NamesWhoWaitsForEver) {
  // Beyond 64 ranks the loader does not check that sends meet their receives.
  CostPlan plan(65);
  plan::Phase phase = testing::RingAllReduce(65, plan::SUM, 0)[0];
  plan::Constraint *c = phase.mutable_send()->add_condition();
  *c->mutable_expr() = testing::Rank() + testing::Constant(-1);
  plan.AllReduce("g", 1000, {}, {phase});
  EXPECT_THAT(ErrorOf(plan, {}), HasSubstr("the step does not end: rank"));
}

TEST(Simulator, OptionsAsText) {
  SimulationOptions o;
  EXPECT_TRUE(ParseLink("3=500/250", &o).ok());
  EXPECT_EQ(o.links[3].up_mbit_per_s, 500);
  EXPECT_EQ(o.links[3].down_mbit_per_s, 250);
  EXPECT_EQ(ParseWhatIf("speed=2", &o).message(),
            "must name bandwidth, latency, compute, workers or algorithm, got: speed=2");
  EXPECT_EQ(ParseWhatIf("bandwidth=0", &o).message(),
            "bandwidth must be a number above 0 and at most 1e+09, got: 0");
  EXPECT_EQ(ParseWhatIf("bandwidth=1e300", &o).message(),
            "bandwidth must be a number above 0 and at most 1e+09, got: 1e300");
  EXPECT_EQ(ParseWhatIf("workers=x", &o).message(),
            "workers must be a number of at least 1, got: x");
  EXPECT_EQ(ParseStraggler("x=2", &o).message(),
            "must begin with a rank and =, got: x");
  EXPECT_EQ(ParseLink("1=1/2/3", &o).message(),
            "must have one rate, or two with / between, got: 1/2/3");
}

}  // namespace
}  // namespace commsched
