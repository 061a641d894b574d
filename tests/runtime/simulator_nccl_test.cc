// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives by NCCL in the simulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "plan/nccl_costs.h"
#include "runtime/simulator/simulator.h"
#include "tests/cases.h"
#include "tests/runtime/nccl_plans.h"

namespace commsched {
namespace {

using runtime::SimulationOptions;
using runtime::SimulationResult;
using testing::CostPlan;
using ::testing::HasSubstr;
using testing::NcclReference;
using testing::NcclStep;
using testing::Plain;

absl::Status Refused(CostPlan &plan, const SimulationOptions &options) {
  auto image = plan.Load();
  return image == nullptr ? absl::UnknownError("no plan")
                          : runtime::Simulate(*image, options).status();
}

TEST(SimulatorNccl, TakesWhatTheReferenceTakes) {
  constexpr int kCalls = 5;
  size_t ended = 0, hung = 0;
  for (uint32_t seed = casesOf(150).first; seed < casesOf(150).end; ++seed) {
    std::mt19937 random(seed);
    const NcclStep step = testing::DrawNcclStep(random);
    SimulationOptions options = Plain(kCalls);
    std::vector<double> slower(size_t(step.ranks), 1);
    if (random() % 2 == 0) {
      const int rank = int(random() % uint32_t(step.ranks));
      slower[size_t(rank)] = options.stragglers[rank] = 1 + double(random() % 8) / 4;
    }
    options.every_rank = random() % 2 == 0;
    CostPlan plan = step.Plan();
    NcclReference reference(step, slower);
    if (!reference.End(0)) {
      ++hung;
      EXPECT_THAT(Refused(plan, options).message(), HasSubstr("the step does not end"))
          << "seed " << seed;
      continue;
    }
    ++ended;
    const SimulationResult result = plan.Simulate(options);
    ASSERT_EQ(result.ends_ns.size(), size_t(kCalls)) << "seed " << seed;
    for (int call = 0; call < kCalls; ++call)
      EXPECT_EQ(result.ends_ns[size_t(call)], double(*reference.End(call)))
          << "seed " << seed << " call " << call;
  }
  EXPECT_GT(ended, 0u);
  EXPECT_GT(hung, 0u);
}

// What a wrong order of NCCL, one collective beside another, or a rank that is not waited for would
// make of the same steps is something else, in many of them.
TEST(SimulatorNccl, TheReferenceTellsFaults) {
  size_t order = 0, ns = 0, steps = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    std::mt19937 random(seed);
    NcclStep step = testing::DrawNcclStep(random);
    const std::vector<double> alike(size_t(step.ranks), 1);
    auto end = NcclReference(step, alike).End(4);
    if (!end || step.order.size() < 2) continue;
    ++steps;
    NcclStep other = step;
    std::swap(other.order[0], other.order[1]);
    for (int k : {0, 1}) other.instructions[size_t(other.order[size_t(k)])].number = k;
    order += NcclReference(other, alike).End(4) != end;
    other = step;
    other.instructions[size_t(step.order[0])].ns += 500;
    ns += NcclReference(other, alike).End(4) != end;
  }
  EXPECT_GT(order, steps / 4);
  EXPECT_GT(ns, steps / 2);
}

NcclStep One(int64_t elements) {
  NcclStep step;
  step.instructions = {{5000, -1, 0, {{1, 1}}},
                       {testing::TableNs(elements), 0, elements, {{0, 0}}}};
  step.order = {1};
  return step;
}

TEST(SimulatorNccl, ModelIsThatOfTheWhatIf) {
  CostPlan plan = One(1 << 20).Plan();
  plan::Cluster *cluster = plan.plan.proto().mutable_cluster();
  cluster->clear_nccl();
  cluster->mutable_nccl()->set_machine_ranks(8);
  cluster->set_intra_mbit_per_s(2'000'000);
  for (int workers : {2, 8, 16, 64})
    for (double bandwidth : {0.5, 1.0, 4.0}) {
      SimulationOptions options = Plain();
      options.workers = workers;
      options.bandwidth = bandwidth;
      options.latency = 3;
      plan::NcclMachines of;
      of.ranks = workers;
      of.machine_ranks = 8;
      of.intra_mbit_per_s = 2'000'000 * bandwidth;
      of.inter_mbit_per_s = 8000 * bandwidth;
      of.inter_latency_ns = 3 * double(testing::kAlpha);
      EXPECT_NEAR(plan.Simulate(options).step_ns,
                  5000 + plan::NcclCosts(of).Ns(plan::NcclCall::kAllReduce, 4 << 20), 1)
          << workers << " " << bandwidth;
    }
}

TEST(SimulatorNccl, LogTakesThePlaceOfThePlan) {
  CostPlan plan = One(2).Plan();
  SimulationOptions options = Plain();
  EXPECT_EQ(plan.Simulate(options).step_ns, 5000 + testing::TableNs(2));
  options.nccl_tests =
      "#  Rank  0 Group  0 Pid 1 on a device 0 [0] b\n"
      "#  Rank  1 Group  0 Pid 1 on a device 1 [0] b\n"
      "8 2 float sum -1 10.00 0.00 0.00 0 12.50 0.00 0.00 0\n";
  EXPECT_EQ(plan.Simulate(options).step_ns, 5000 + 12'500);
  options.nccl_tests += "8 2 float sum -1 0.00 0.00 0.00 0 12.50 0.00 0.00 0\n";
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("log of nccl-tests: line 4: time"));
  options.nccl_tests = "8388608 2097152 float sum -1 100.00 83.89 125.83 0 100.00 83.89 125.83 0\n";
  EXPECT_THAT(Refused(plan, options).message(),
              HasSubstr("log of nccl-tests: ranks must match the nodes of the cluster, 2, got: 4"));
}

TEST(SimulatorNccl, ACalibrationTakesThePlaceOfThePlan) {
  CostPlan plan = One(2).Plan();
  SimulationOptions options = Plain();
  const auto calibration = [](int ranks) {
    return absl::StrCat(
        R"({"format":"commsched calibration","version":1,"module":"test","links":[{"from":"rank 0","latency_ns":0,"overhead_ns":0,"bits_per_s":8e9}],)",
        R"("exchanges":[],"compute":[],"copies":[],"nccl":[{"ranks":)",
        ranks, R"(,"bytes":8,"ns":31000},{"ranks":)", ranks, R"(,"bytes":16,"ns":32000}]})");
  };
  options.calibration = calibration(2);
  EXPECT_EQ(plan.Simulate(options).step_ns, 5000 + 31'000);
  options.bandwidth = 2;
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("times of NCCL were measured"));
  options.bandwidth = 1;
  options.calibration = calibration(4);
  EXPECT_THAT(Refused(plan, options).message(),
              HasSubstr("calibration ranks must match the nodes of the cluster, 2, got: 4"));
  options.calibration = calibration(2);
  options.nccl_tests = "8 2 float sum -1 10.00 0.00 0.00 0 12.50 0.00 0.00 0\n";
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("one of them must go"));
}

TEST(SimulatorNccl, WhatIsNotKnownIsRefused) {
  CostPlan plan = One(2).Plan();
  SimulationOptions options = Plain();
  options.bandwidth = 2;
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("times of NCCL were measured"));
  options = Plain();
  options.workers = 4;
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("measured for 2 workers, not for 4"));
  options = Plain();
  options.in_order = true;
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("have an order in the plan"));
  options = Plain();
  options.links[0] = {1, 1};
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("links of single ranks"));
  options = Plain();
  options.algorithm = "ring";
  EXPECT_THAT(Refused(plan, options).message(), HasSubstr("chooses their algorithm itself"));
  plan.plan.proto().mutable_cluster()->mutable_nccl()->add_ns(1);
  EXPECT_THAT(runtime::PlanImage::Load(plan.plan.Bytes()).status().message(),
              HasSubstr("times of NCCL must be as many as sizes"));
}

}  // namespace
}  // namespace commsched
