// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults in what a rank of a drawn plan does, one at a time: which of them can do harm is decided by
// reachability (orders.h), and exactly those have findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/cases.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/drawn_plan.h"
#include "tests/runtime/cuda/plan_faults.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

struct Outcome {
  std::vector<std::string> findings;
  bool values_equal = true, ended = false;
  size_t left = 0;
};

struct Counts {
  int faults = 0, harmful = 0, by_values = 0, ended = 0;
};

class DeviceFaultsTest : public ::testing::Test {
 protected:
  // One fault for each seed, on rank 0.
  static void Try(PlanFault fault, const DrawnPlanOptions &drawn, uint32_t count, const char *what) {
    Counts counts;
    const Cases cases = casesOf(count);
    for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed)
      Run(fault, seed, drawn, &counts);
    std::printf("%s: %d, %d can do harm and were found; values were wrong in %d\n", what,
                counts.faults, counts.harmful, counts.by_values);
    EXPECT_GT(counts.harmful, counts.faults / 20);
  }

  static void Run(PlanFault fault, uint64_t seed, const DrawnPlanOptions &drawn, Counts *counts) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random, drawn);
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    DeviceJobOptions options;
    options.seed = random();
    options.kernels = [&plan](const std::string &, const std::string &name) {
      return &plan.fakes.at(name);
    };
    auto harmful = std::make_shared<std::optional<bool>>();
    options.prepare = [&](int rank, FakeProbe &probe) {
      if (rank == 0) Plant(probe, fault, random(), harmful);
    };
    DeviceJob job(*image, options);
    ASSERT_TRUE(job.status.ok()) << job.status;
    ASSERT_TRUE(job.JoinServers().ok());
    const Outcome outcome = Steps(plan, job);
    EXPECT_EQ(outcome.left, 0u);
    if (!harmful->has_value()) return;
    ++counts->faults;
    if (**harmful) {
      ++counts->harmful;
      EXPECT_THAT(outcome.findings, Not(IsEmpty()));
    } else if (outcome.ended) {
      // A server has been asked for a value that it has no longer.
      ++counts->ended;
    } else {
      EXPECT_THAT(outcome.findings, IsEmpty());
    }
    counts->by_values += !outcome.values_equal;
  }

  static Outcome Steps(const DrawnPlan &plan, DeviceJob &job) {
    constexpr int kCalls = 10;
    DrawnReference reference(plan);
    auto batches = std::make_shared<std::vector<std::vector<DrawnReference::Bytes>>>();
    for (int r = 0; r < job.ranks(); ++r) {
      batches->emplace_back();
      for (const auto &[name, bytes] : BatchesOf(plan.proto.functions(0)))
        batches->back().emplace_back(bytes, std::byte(0));
    }
    Outcome outcome;
    for (int call = 0; call < kCalls; ++call) reference.Call(0, *batches);
    const absl::Status status = job.ForAll([&](int r) -> absl::Status {
      for (int call = 0; call < kCalls; ++call) {
        BatchRows rows;
        for (const auto &bytes : (*batches)[size_t(r)]) rows.data.push_back(bytes.data());
        rows.owner = batches;
        if (auto made = job.rank(r).Enqueue(0, std::move(rows)); !made.ok()) return made.status();
      }
      return job.rank(r).Drain();
    });
    // One that pushes before it has pulled may be too late for what it pulls.
    outcome.ended = !status.ok() && plan.servers;
    EXPECT_TRUE(status.ok() || outcome.ended) << status;
    for (int r = 0; r < job.ranks() && status.ok(); ++r) {
      for (uint32_t slot = 0; slot < plan.slots; ++slot) {
        DrawnReference::Bytes value(reference.slot(r, slot).size());
        EXPECT_TRUE(job.rank(r).GetSlot(slot, absl::MakeSpan(value)).ok());
        outcome.values_equal &= value == reference.slot(r, slot);
      }
    }
    DeviceJob::End end = job.Finish();
    outcome.findings = std::move(end.findings);
    outcome.left = end.left;
    return outcome;
  }
};

TEST_F(DeviceFaultsTest, AWaitThatIsLeftOut) {
  Try(PlanFault::kWait, {}, 80, "waits left out");
}

TEST_F(DeviceFaultsTest, ARangeThatIsLeftOut) {
  Try(PlanFault::kRange, {}, 80, "ranges left out");
}

// Without NCCL, which compares where its ranks' buffers are.
TEST_F(DeviceFaultsTest, CopiesOfASlotInEachOthersPlace) {
  Try(PlanFault::kCopy, {.nccl = false}, 80, "copies of slots mixed up");
}

TEST_F(DeviceFaultsTest, APlaceThatIsUsedAgainTooEarly) {
  Try(PlanFault::kPlace, {.nccl = false}, 120, "places used again too early");
}

// With parameter servers alone.
constexpr DrawnPlanOptions kServers = {.nccl = false, .messages = false, .servers = true};

TEST_F(DeviceFaultsTest, AWaitOfAStepWithServersThatIsLeftOut) {
  Try(PlanFault::kWait, kServers, 80, "waits left out, with servers");
}

TEST_F(DeviceFaultsTest, APushThatDoesNotWaitForItsCopy) {
  Try(PlanFault::kPush, kServers, 40, "pushes before their copies");
}

TEST_F(DeviceFaultsTest, WhatIsPulledAndUsedTooEarly) {
  Try(PlanFault::kPull, kServers, 60, "values used before they are there");
}

TEST_F(DeviceFaultsTest, APlaceOfAPushOrAPullThatIsUsedAgainTooEarly) {
  Try(PlanFault::kPlace, kServers, 120, "places of pushes and pulls used again too early");
}

}  // namespace
}  // namespace commsched::runtime::cuda
