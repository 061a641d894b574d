// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers that hold the index of a worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/replanning/replacement.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::FunctionBuilder;
using ::testing::HasSubstr;
using testing::LoadError;
using testing::Open;
using testing::PlanBuilder;

constexpr uint64_t kFeature = uint64_t{1} << plan::FEATURE_WORKER_INDEX;

uint32_t WorkerIndex(FunctionBuilder &f, uint32_t device = 0) {
  uint32_t buffer = f.Arena(plan::I32, {});
  plan::Buffer *b = f.proto()->mutable_buffers(int(buffer));
  b->set_kind(plan::Buffer::WORKER_INDEX);
  b->set_device(device);
  return buffer;
}

// Of a step that reads its index three times: with a fragment, in a copy, and as
// a metric as it is.
PlanBuilder Reader(int nodes) {
  PlanBuilder plan(nodes);
  plan.proto().set_required_features(kFeature);
  uint32_t w = plan.Slot("w", plan::F32, {8});
  auto f = plan.Function("step");
  uint32_t index = WorkerIndex(f), total = f.Arena(plan::F32, {}), copy = f.Arena(plan::I32, {});
  // The sum of the first `index` elements of w.
  f.Run("sum", {index, f.Slot(false, w, plan::F32, {8})}, {total}, {{0, 1}});
  f.Copy(index, copy, {{1, 1}});
  f.Output("total", total);
  f.Output("copy", copy);
  f.Output("index", index);
  return plan;
}

TEST(WorkerIndexTest, EveryWorkerReadsItsOwn) {
  PlanBuilder plan = Reader(5);
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->SetSlot(0, BytesOf(std::vector<float>{1, 10, 100, 1000, 0, 0, 0, 0})).ok());
  const double totals[] = {0, 1, 11, 111, 1111};
  for (int step = 0; step < 3; ++step) {
    auto call = session->Call(0, nullptr);
    ASSERT_TRUE(call.ok()) << call.status();
    for (int r = 0; r < 5; ++r) {
      auto metrics = session->executor(size_t(r)).Metrics(*call);
      ASSERT_TRUE(metrics.ok()) << metrics.status();
      EXPECT_THAT(*metrics, ElementsAre(totals[r], r, r));
    }
  }
  // In place of another one.
  auto call = session->Call(0, nullptr, 3), own = session->Call(0, nullptr);
  ASSERT_TRUE(call.ok() && own.ok());
  EXPECT_THAT(*session->executor(1).Metrics(*call), ElementsAre(111, 3, 3));
  EXPECT_THAT(*session->executor(1).Metrics(*own), ElementsAre(1, 1, 1));
}

// It is the number of the part of the batch that the device gets.
TEST(WorkerIndexTest, DevicesCountAsTheirPartsOfTheBatch) {
  constexpr int kNodes = 2, kDevices = 3;
  PlanBuilder plan(kNodes);
  plan.proto().set_required_features(kFeature | uint64_t{1} << plan::FEATURE_DEVICES);
  plan.proto().mutable_cluster()->set_devices(kDevices);
  auto f = plan.Function("step");
  for (uint32_t d = 0; d < kDevices; ++d) {
    uint32_t x = f.Batch("x", plan::F32, {1});
    f.proto()->mutable_buffers(int(x))->set_device(d);
    f.Output(absl::StrCat("x", d), x);
    f.Output(absl::StrCat("index", d), WorkerIndex(f, d));
  }
  f.proto()->set_global_batch(kNodes * kDevices);
  auto eval = plan.Function("eval");  // on device 0 alone: a part for each node
  uint32_t x = eval.Batch("x", plan::F32, {1});
  eval.Output("x", x);
  eval.Output("index", WorkerIndex(eval));
  eval.proto()->set_global_batch(kNodes);
  // An index on another device is enough to number the devices.
  auto alone = plan.Function("alone");
  alone.Output("index0", WorkerIndex(alone, 0));
  alone.Output("index2", WorkerIndex(alone, 2));

  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  std::vector<float> rows = {0, 1, 2, 3, 4, 5}, few = {0, 1};
  runtime::GlobalBatch batch, small;
  batch.Set("x", BytesOf(rows), nullptr);
  small.Set("x", BytesOf(few), nullptr);
  auto first = session->Call(0, &batch), second = session->Call(1, &small),
       third = session->Call(2, nullptr);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  for (int r = 0; r < kNodes; ++r) {
    runtime::RankExecutor &executor = session->executor(size_t(r));
    const double i = r * kDevices;
    EXPECT_THAT(*executor.Metrics(*first), ElementsAre(i, i, i + 1, i + 1, i + 2, i + 2));
    EXPECT_THAT(*executor.Metrics(*second), ElementsAre(r, r));
    EXPECT_THAT(*executor.Metrics(*third), ElementsAre(i, i + 2));
  }
}

TEST(WorkerIndexTest, WhatAPlanSaysOfItIsChecked) {
  auto error = [](auto change) {
    PlanBuilder plan = Reader(2);
    change(plan.proto(), plan.proto().mutable_functions(0));
    return LoadError(plan.Bytes());
  };
  EXPECT_EQ(error([](auto &, auto *) {}), "");
  EXPECT_THAT(
      error([](auto &, auto *f) { f->mutable_buffers(0)->mutable_type()->set_element(plan::I64); }),
      HasSubstr(
          "function @step: buffer 0: a worker's index must be of I32 without dimensions, got: i64"));
  EXPECT_THAT(error([](auto &, auto *f) { f->mutable_buffers(0)->mutable_type()->add_shape(1); }),
              HasSubstr("without dimensions, got: i32[1]"));
  EXPECT_THAT(error([](auto &, auto *f) { f->mutable_buffers(0)->set_device(1); }),
              HasSubstr("buffer 0: there is no device 1"));
  EXPECT_THAT(error([](auto &p, auto *) { p.set_required_features(0); }),
              HasSubstr("buffer 0: is a worker's index, which the plan's required features do not say"));
  EXPECT_THAT(
      error([](auto &, auto *f) { f->mutable_instructions(1)->mutable_copy()->set_target(0); }),
      HasSubstr("writes buffer 0, which may only be read"));
  EXPECT_THAT(error([](auto &, auto *f) { FunctionBuilder(f).Part(0, 0, plan::I32, {}); }),
              HasSubstr("a worker's index has no parts"));
}

TEST(WorkerIndexTest, AServerHasNone) {
  PlanBuilder plan = testing::ServerPlan({});
  plan::Plan &proto = plan.proto();
  proto.set_required_features(proto.required_features() | kFeature);
  ASSERT_EQ(LoadError(plan.Bytes()), "");
  // Trainers have.
  FunctionBuilder step(proto.mutable_functions(0));
  WorkerIndex(step);
  EXPECT_EQ(LoadError(plan.Bytes()), "");
  FunctionBuilder schedule(
      proto.mutable_functions(int(proto.parameter_servers().servers(0).schedule())));
  WorkerIndex(schedule);
  EXPECT_THAT(LoadError(plan.Bytes()), HasSubstr("a server is no worker, and has no index"));
}

// A new plan in the middle of a run is for the same program.
TEST(WorkerIndexTest, AReplacementHasItToo) {
  auto with = runtime::PlanImage::Load(Reader(2).Bytes());
  PlanBuilder plan = Reader(2);
  plan.proto().mutable_functions(0)->mutable_buffers(0)->set_kind(plan::Buffer::ARENA);
  auto without = runtime::PlanImage::Load(plan.Bytes());
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_TRUE(runtime::CheckReplacement(**with, **with).ok());
  EXPECT_THAT(std::string(runtime::CheckReplacement(**with, **without).message()),
              HasSubstr("function @step of the new plan has other batches, or indices of workers"));
}

}  // namespace
}  // namespace commsched
