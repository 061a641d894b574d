// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/memory_needs.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/cases.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/drawn_plan.h"

namespace commsched::runtime::cuda {
namespace {

TEST(MemoryNeedsTest, AreWhatTheExecutorAllocates) {
  for (uint32_t seed = casesOf(60).first; seed < casesOf(60).end; ++seed) {
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random);
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    DeviceJobOptions options;
    options.seed = seed;
    options.kernels = [&](const std::string &, const std::string &name) -> const FakeKernel * {
      const auto at = plan.fakes.find(name);
      return at == plan.fakes.end() ? nullptr : &at->second;
    };
    DeviceJob job(*image, options);
    ASSERT_TRUE(job.status.ok()) << job.status;
    for (int r = 0; r < job.ranks(); ++r) {
      auto needs = MemoryNeedsOf(job.rank(r).program());
      ASSERT_TRUE(needs.ok()) << needs.status();
      EXPECT_EQ(needs->device(), job.rank(r).device_bytes()) << "seed " << seed;
      EXPECT_EQ(needs->pinned(), job.rank(r).pinned_bytes()) << "seed " << seed;
    }
    job.Finish();
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
