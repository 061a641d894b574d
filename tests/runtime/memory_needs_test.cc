// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/memory_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/execute/executor.h"
#include "runtime/loading/plan_loader.h"
#include "tests/cases.h"
#include "tests/runtime/plan_builder.h"
#include "tests/runtime/server_plan.h"

namespace commsched {
namespace {

using runtime::HostMemoryNeeds;
using runtime::HostMemoryNeedsOf;

// Slots that functions write or not, arenas, scratch, devices; no kernels, which ask for memory of
// their own. Of ranks that run one step, or one for each of some roles.
std::shared_ptr<const runtime::PlanImage> DrawPlan(std::mt19937 &random) {
  const size_t roles = 1 + random() % 3;
  std::vector<uint32_t> counts;
  for (size_t role = 0; role < roles; ++role) counts.push_back(1 + random() % 3);
  testing::PlanBuilder plan(std::accumulate(counts.begin(), counts.end(), 0));
  const auto size = [&] { return 1 + int64_t(random() % 1000); };
  for (size_t r = 0; r < roles; ++r) {
    std::vector<std::pair<uint32_t, int64_t>> slots;
    for (size_t i = 0, n = 1 + random() % 5; i < n; ++i) {
      const int64_t elements = size();
      slots.emplace_back(plan.Slot(absl::StrCat("s", r, ".", i), plan::F32, {elements}), elements);
    }
    plan::Role *role = roles > 1 ? plan.proto().add_roles() : nullptr;
    if (role != nullptr) {
      role->set_name(absl::StrCat("role", r));
      role->set_count(counts[r]);
      for (auto [slot, elements] : slots) role->add_slots(slot);
    }
    for (size_t i = 0, n = roles > 1 ? 1 : 1 + random() % 3; i < n; ++i) {
      if (role != nullptr) role->add_functions(uint32_t(plan.proto().functions_size()));
      testing::FunctionBuilder f = plan.Function(absl::StrCat("f", r, ".", i));
      f.proto()->set_is_step(i == 0);
      f.proto()->set_scratch_bytes(random() % 5000);
      const uint32_t arena = f.Arena(plan::F32, {size()});
      f.Copy(arena, arena);
      for (auto [slot, elements] : slots) {
        if (random() % 2 == 0) continue;
        f.Copy(f.Slot(false, slot, plan::F32, {elements}), f.Slot(true, slot, plan::F32, {elements}));
      }
    }
  }
  if (roles > 1)
    plan.proto().set_required_features(plan.proto().required_features() | uint64_t{1} << plan::FEATURE_ROLES);
  auto image = runtime::PlanImage::Load(plan.Bytes());
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *image : nullptr;
}

TEST(MemoryNeeds, AreWhatExecutorsAllocate) {
  for (uint32_t seed = casesOf(80).first; seed < casesOf(80).end; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto image = DrawPlan(random);
    ASSERT_NE(image, nullptr);
    auto needs = HostMemoryNeedsOf(*image);
    ASSERT_TRUE(needs.ok()) << needs.status();
    ASSERT_EQ(needs->size(), size_t(image->nodes()));
    uint64_t all = 0;
    for (int rank = 0; rank < image->nodes(); ++rank) {
      auto program = image->ForRank(rank);
      ASSERT_TRUE(program.ok()) << program.status();
      auto executor = runtime::Executor::Create(*program, {});
      ASSERT_TRUE(executor.ok()) << executor.status();
      EXPECT_EQ((*needs)[size_t(rank)].all(), (*executor)->memory_bytes()) << rank;
      all += (*executor)->memory_bytes();
    }
    EXPECT_TRUE(runtime::CheckMemory(*needs, all).ok());
    const absl::Status refused = runtime::CheckMemory(*needs, all - 1);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr(absl::StrCat(" has ", all - 1, " available")));
  }
}

// A sum of each block that trainers push, where there are several of them.
TEST(MemoryNeeds, OfServersAreWithSums) {
  for (int trainers : {1, 2, 3})
    for (bool fused : {false, true}) {
      testing::ServerPlanOptions options;
      options.trainers = trainers;
      options.fused = fused;
      auto image = runtime::PlanImage::Load(testing::ServerPlan(options).Bytes());
      ASSERT_TRUE(image.ok()) << image.status();
      for (int server = 0; server < 2; ++server) {
        auto program = (*image)->ForServer(server);
        ASSERT_TRUE(program.ok()) << program.status();
        auto executor = runtime::Executor::Create(*program, {});
        ASSERT_TRUE(executor.ok()) << executor.status();
        auto needs = runtime::HostMemoryNeedsOfServer(**image, server);
        ASSERT_TRUE(needs.ok()) << needs.status();
        const int rows = server == 0 ? 3 : 2;
        const uint64_t sums = trainers == 1 ? 0 : 4 * uint64_t(rows * testing::kColumns + (server == 0 ? 0 : testing::kBias));
        EXPECT_EQ(needs->sums, sums);
        EXPECT_EQ(needs->all(), (*executor)->memory_bytes() + sums);
        const auto ranks = HostMemoryNeedsOf(**image);
        ASSERT_TRUE(ranks.ok());
        EXPECT_EQ(ranks->size(), size_t(trainers));
      }
      const absl::Status refused = runtime::CheckMemory(**image, 1);
      EXPECT_THAT(std::string(refused.message()),
                  ::testing::HasSubstr(absl::StrCat(" bytes of memory for the ", trainers + 2, " ranks and servers here ")));
    }
}

TEST(MemoryNeeds, SayWhoNeedsHowMuch) {
  using ::testing::StartsWith;
  const auto refused = [](std::vector<HostMemoryNeeds> ranks) {
    return std::string(runtime::CheckMemory(ranks, 5).message());
  };
  HostMemoryNeeds small, large;
  small.slots = 6;
  large.arenas = 7;
  EXPECT_THAT(refused({small}), StartsWith("the plan needs 6 bytes of memory (parameters and state 6, arenas 0, scratch 0), the host"));
  EXPECT_THAT(refused({small, small}), StartsWith("the plan needs 6 bytes of memory for each of 2 ranks here (parameters and state 6, "));
  EXPECT_THAT(refused({small, large, small}),
              StartsWith("the plan needs 19 bytes of memory for the 3 ranks here (parameters and state 12, arenas 7, scratch 0)"));
}

TEST(MemoryNeeds, TheHostHasSomeMemory) { EXPECT_GT(runtime::AvailableMemory(), 1u << 20); }

}  // namespace
}  // namespace commsched
