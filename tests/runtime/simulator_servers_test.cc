// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which simulated trainers and parameter servers send what waits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cases.h"
#include "tests/runtime/simulator_plans.h"
#include "tests/runtime/trace_spans.h"

namespace commsched {
namespace {

using runtime::SimulationOptions;
using testing::Plain;
using testing::PlanBuilder;
using testing::Span;

// When the spans of rank 0 with these names end, in microseconds.
std::vector<double> EndsOf(const runtime::TraceRecorder &trace, const std::string &track,
                           const std::vector<std::string> &names) {
  std::map<std::string, double> ends;
  for (const Span &span : testing::SpansOf(trace))
    if (span.rank == 0 && span.track.rfind(track, 0) == 0) ends[span.name] = double(span.end);
  EXPECT_EQ(ends.size(), names.size());
  std::vector<double> result;
  for (const std::string &name : names) result.push_back(std::round(ends.at(name)));
  return result;
}

struct Block {
  int64_t floats = 0;
  int push = 0, pull = 0;  // priorities
};

// One trainer has all gradients at once, and sends them to one server, which hands
// them back.
PlanBuilder BlocksPlan(const std::vector<Block> &blocks) {
  PlanBuilder plan(1);
  plan::Plan &proto = plan.proto();
  proto.set_required_features(uint64_t{1} << plan::FEATURE_PARAMETER_SERVER |
                              uint64_t{1} << plan::FEATURE_COST_ONLY);
  proto.clear_objects();
  proto.mutable_cluster()->set_inter_mbit_per_s(8);
  plan::Role *trainer = proto.add_roles();
  trainer->set_name("trainer");
  trainer->set_count(1);
  trainer->add_functions(0);
  auto f = plan.Function("step");
  const uint32_t made = f.Delay(1000);
  const auto push_key = [](size_t b) { return "b" + std::to_string(b); };
  const auto pull_key = [&](size_t b) { return push_key(b) + ".new"; };
  for (size_t b = 0; b < blocks.size(); ++b) {
    const uint32_t gradient = f.Arena(plan::F32, {blocks[b].floats});
    const uint32_t value = f.Arena(plan::F32, {blocks[b].floats});
    const uint32_t push = f.Push(push_key(b), 0, uint32_t(b), gradient, {{made}});
    const uint32_t pull = f.Pull(pull_key(b), 0, uint32_t(b), value, {{push}});
    f.proto()->mutable_instructions(int(push))->set_priority(blocks[b].push);
    f.proto()->mutable_instructions(int(pull))->set_priority(blocks[b].pull);
  }
  plan::ParameterServers *servers = proto.mutable_parameter_servers();
  servers->set_mode(plan::ParameterServers::SYNC);
  plan::Server *server = servers->add_servers();
  server->set_role(1);
  plan::Role *role = proto.add_roles();
  role->set_name("server.0");
  role->set_count(1);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const uint32_t slot = plan.Slot("#" + pull_key(b), plan::F32, {blocks[b].floats}, false);
    proto.mutable_slots(int(slot))->set_internal(true);
    role->add_slots(slot);
    plan::ServerBlock *block = server->add_blocks();
    block->set_key(push_key(b));
    block->set_pull_key(pull_key(b));
    block->set_function(uint32_t(proto.functions_size()));
    block->set_slot(slot);
    role->add_functions(uint32_t(proto.functions_size()));
    auto hand_back = plan.Function("update." + push_key(b));
    hand_back.Copy(hand_back.Batch(push_key(b), plan::F32, {blocks[b].floats}),
                   hand_back.Slot(true, slot, plan::F32, {blocks[b].floats}));
  }
  return plan;
}

// As what was read of the plan says, by a sort.
std::vector<std::string> InOrder(const std::vector<Block> &blocks, int Block::*priority,
                                 const std::string &suffix) {
  std::vector<std::tuple<int, size_t>> order;
  for (size_t b = 0; b < blocks.size(); ++b) order.emplace_back(blocks[b].*priority, b);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (auto [own, b] : order) names.push_back("b" + std::to_string(b) + suffix);
  return names;
}

// What waits for a link goes by the priority of its own direction, then by block.
TEST(SimulatorServers, WhatWaitsGoesByPriority) {
  for (Cases cases = casesOf(40); cases.first < cases.end; ++cases.first) {
    SCOPED_TRACE(cases.first);
    std::mt19937 random(cases.first);
    std::vector<Block> blocks(2 + random() % 6);
    for (Block &block : blocks)
      block = {int64_t(20000 + random() % 30000), int(random() % 4), int(random() % 4)};
    auto plan = BlocksPlan(blocks);
    auto image = runtime::PlanImage::Load(plan.Bytes());
    ASSERT_TRUE(image.ok()) << image.status();
    // Up all at once, so that the values wait for the way down, and the reverse.
    for (bool up : {true, false}) {
      runtime::TraceRecorder trace{runtime::Clock::time_point()};
      SimulationOptions options = Plain(1);
      options.trace = &trace;
      options.links[0] = up ? runtime::LinkRate{8, 1e6} : runtime::LinkRate{1e6, 8};
      options.links[1] = {1e6, 1e6};
      auto result = runtime::Simulate(**image, options);
      ASSERT_TRUE(result.ok()) << result.status();
      if (up) {
        const std::vector<double> sent = EndsOf(trace, "send", InOrder(blocks, &Block::push, ""));
        EXPECT_TRUE(std::ranges::adjacent_find(sent, std::ranges::greater_equal()) == sent.end())
            << "each before the next";
        continue;
      }
      // Pushes come in several packets, so that what is less urgent may have begun, and end in the packet of what is more so.
      EXPECT_TRUE(std::ranges::is_sorted(EndsOf(trace, "receive", InOrder(blocks, &Block::pull, ".new"))));
    }
  }
}

// A value is asked for with its push, and a message of its own asks where that is not copied.
TEST(SimulatorServers, SmallPushesAskForTheirValues) {
  for (Cases cases = casesOf(10); cases.first < cases.end; ++cases.first) {
    SCOPED_TRACE(cases.first);
    std::mt19937 random(cases.first);
    for (bool small : {true, false}) {
      const int64_t most = int64_t{2} << 20, bytes = 4 * int64_t(small ? 1 + random() % (most / 4) : most / 4 + 1 + random() % 1000);
      auto image = runtime::PlanImage::Load(BlocksPlan({{bytes / 4, 0, 0}}).Bytes());
      ASSERT_TRUE(image.ok()) << image.status();
      SimulationOptions options = Plain(1);
      options.links[0] = options.links[1] = {8000, 8000};  // a byte in a nanosecond
      options.overhead_ns = 1000 + random() % 100000;
      options.latency_ns = random() % 1000000;
      auto result = runtime::Simulate(**image, options);
      ASSERT_TRUE(result.ok()) << result.status();
      // One that asks is right behind the push, whose latency is its own.
      const double expected = 1000 + 2.0 * double(bytes) + double((small ? 2 : 3) * *options.overhead_ns + 2 * *options.latency_ns);
      EXPECT_NEAR(double(result->total_ns), expected, 10) << bytes;
    }
  }
}

}  // namespace
}  // namespace commsched
