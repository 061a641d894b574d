// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans for tests of the simulator: delays and communication, links of one byte in
// a nanosecond.
#ifndef COMMSCHED_TESTS_RUNTIME_SIMULATOR_PLANS_H
#define COMMSCHED_TESTS_RUNTIME_SIMULATOR_PLANS_H

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/loading/plan_loader.h"
#include "runtime/simulator/simulator.h"
#include "tests/runtime/plan_builder.h"

namespace commsched::testing {

inline constexpr int64_t kAlpha = 1000;  // latency of a link, ns

class CostPlan {
 public:
  explicit CostPlan(int nodes) : plan(nodes), f(plan.Function("step")) {
    plan.proto().set_required_features(uint64_t{1} << plan::FEATURE_COST_ONLY);
    plan.proto().clear_objects();
    plan::Cluster *cluster = plan.proto().mutable_cluster();
    cluster->set_inter_mbit_per_s(8000);
    cluster->set_inter_latency_ns(kAlpha);
  }
  // An all-reduce by a ring, or other phases, of so many floats.
  uint32_t AllReduce(const std::string &key, int64_t elements,
                     std::vector<FunctionBuilder::Wait> waits,
                     std::vector<plan::Phase> phases = {}, int priority = 0) {
    const int nodes = int(plan.proto().cluster().nodes());
    if (phases.empty()) phases = RingAllReduce(nodes, plan::SUM, 0);
    const uint32_t i = f.Communicate(key, f.Arena(plan::F32, {elements}), phases, waits);
    plan::Instruction *in = f.proto()->mutable_instructions(int(i));
    in->set_priority(priority);
    in->mutable_communicate()->set_source_op("all_reduce");
    return i;
  }
  std::shared_ptr<const runtime::PlanImage> Load() {
    auto image = runtime::PlanImage::Load(plan.Bytes());
    EXPECT_TRUE(image.ok()) << image.status();
    return image.ok() ? *image : nullptr;
  }
  runtime::SimulationResult Simulate(const runtime::SimulationOptions &options) {
    auto image = Load();
    if (image == nullptr) return {};
    auto result = runtime::Simulate(*image, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : runtime::SimulationResult();
  }

  PlanBuilder plan;
  FunctionBuilder f;
};

// No grants, nothing in sockets: what can be reckoned by hand.
inline runtime::SimulationOptions Plain(uint64_t steps = 0) {
  runtime::SimulationOptions options;
  options.steps = steps;
  options.eager_bytes = uint64_t{1} << 40;
  options.socket_bytes = 0;
  return options;
}

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_SIMULATOR_PLANS_H
