// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/memory_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/execute/executor.h"
#include "runtime/loading/plan_loader.h"
#include "tests/cases.h"
#include "tests/runtime/plan_builder.h"

namespace commsched {
namespace {

using runtime::HostMemoryNeeds;
using runtime::HostMemoryNeedsOf;

// Slots that functions write or not, arenas, scratch, devices; no kernels, which ask for memory of
// their own.
std::shared_ptr<const runtime::PlanImage> DrawPlan(std::mt19937 &random) {
  testing::PlanBuilder plan(1);
  const auto size = [&] { return 1 + int64_t(random() % 1000); };
  std::vector<std::pair<uint32_t, int64_t>> slots;
  for (size_t i = 0, n = 1 + random() % 5; i < n; ++i) {
    const int64_t elements = size();
    slots.emplace_back(plan.Slot("s" + std::to_string(i), plan::F32, {elements}), elements);
  }
  for (size_t i = 0, n = 1 + random() % 3; i < n; ++i) {
    testing::FunctionBuilder f = plan.Function("f" + std::to_string(i));
    f.proto()->set_scratch_bytes(random() % 5000);
    const uint32_t arena = f.Arena(plan::F32, {size()});
    f.Copy(arena, arena);
    for (auto [slot, elements] : slots) {
      if (random() % 2 == 0) continue;
      f.Copy(f.Slot(false, slot, plan::F32, {elements}), f.Slot(true, slot, plan::F32, {elements}));
    }
  }
  auto image = runtime::PlanImage::Load(plan.Bytes());
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *image : nullptr;
}

TEST(MemoryNeeds, AreWhatTheExecutorAllocates) {
  for (uint32_t seed = casesOf(80).first; seed < casesOf(80).end; ++seed) {
    std::mt19937 random(seed);
    auto image = DrawPlan(random);
    ASSERT_NE(image, nullptr);
    auto program = image->ForRank(0);
    ASSERT_TRUE(program.ok()) << program.status();
    auto executor = runtime::Executor::Create(*program, {});
    ASSERT_TRUE(executor.ok()) << executor.status();
    const HostMemoryNeeds needs = HostMemoryNeedsOf(**program);
    EXPECT_EQ(needs.all(), (*executor)->memory_bytes()) << "seed " << seed;
    EXPECT_TRUE(runtime::CheckMemory(**program, 3, 3 * needs.all()).ok());
    const absl::Status refused = runtime::CheckMemory(**program, 3, 3 * needs.all() - 1);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                ::testing::HasSubstr("the plan needs " + std::to_string(needs.all()) +
                                     " bytes of memory for each of 3 ranks here"));
  }
}

TEST(MemoryNeeds, TheHostHasSomeMemory) { EXPECT_GT(runtime::AvailableMemory(), 1u << 20); }

}  // namespace
}  // namespace commsched
