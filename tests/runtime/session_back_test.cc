// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can be read of a session after an error: the values after the last call
// that all ranks have completed, however far some of them were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::BytesOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::MutableBytesOf;

constexpr int kSize = 4;

// step: w' = w + x, last' = x; fails where x[0] < 0. Ranks do not wait for each
// other. Slots: 0 "w", 1 "n", 2 "last", which no step reads.
testing::PlanBuilder Picky(int nodes) {
  testing::PlanBuilder plan(nodes);
  uint32_t w = plan.Slot("w", plan::F32, {kSize});
  uint32_t n = plan.Slot("n", plan::I32, {}, false);
  uint32_t last = plan.Slot("last", plan::F32, {kSize}, false);
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", plan::F32, {1, kSize});
  uint32_t wc = f.Slot(false, w, plan::F32, {kSize});
  uint32_t nc = f.Slot(false, n, plan::I32, {});
  uint32_t metric = f.Arena(plan::F32, {});
  uint32_t copy = f.Copy(x, f.Slot(true, last, plan::F32, {kSize}));
  uint32_t picky = f.Run("picky", {nc, x}, {metric}, {{copy}});
  f.Run("add", {nc, wc, x}, {f.Slot(true, w, plan::F32, {kSize})}, {{picky}, {2, 1}});
  f.Output("zero", metric);
  f.proto()->set_global_batch(uint64_t(nodes));
  return plan;
}

runtime::BatchRows Rows(float value) {
  auto x = std::make_shared<std::vector<float>>(kSize, value);
  runtime::BatchRows rows;
  rows.data.push_back(reinterpret_cast<const std::byte *>(x->data()));
  rows.owner = x;
  return rows;
}

void Call(runtime::Session *session, float value) {
  runtime::GlobalBatch batch;
  auto x = std::make_shared<std::vector<float>>(
      kSize * size_t(session->image().nodes()), value);
  batch.Set("x", BytesOf(*x), x);
  auto call = session->Call(0, &batch);
  ASSERT_TRUE(call.ok()) << call.status();
}

std::vector<float> Get(runtime::RankExecutor &executor, uint32_t slot) {
  std::vector<float> value(kSize);
  absl::Status s = executor.GetSlot(slot, MutableBytesOf(value));
  EXPECT_TRUE(s.ok()) << s;
  return value;
}

TEST(SessionBackTest, AllRanksGoBackToWhatAllHaveCompleted) {
  for (int ahead : {0, 1, 2, 5}) {
    auto session = testing::Open(Picky(3));
    ASSERT_NE(session, nullptr);
    std::vector<int> n = {kSize};
    ASSERT_TRUE(session->SetSlot(1, BytesOf(n)).ok());
    for (float step : {1, 2, 3}) Call(session.get(), step);
    ASSERT_TRUE(session->Settle().ok());
    EXPECT_EQ(session->steps(), 3u);
    for (int step = 0; step < ahead; ++step)
      ASSERT_TRUE(session->executor(0).Enqueue(0, Rows(float(10 + step))).ok());
    ASSERT_TRUE(session->executor(0).Drain().ok());
    ASSERT_TRUE(session->executor(1).Enqueue(0, Rows(10)).ok());
    ASSERT_TRUE(session->executor(2).Enqueue(0, Rows(-1)).ok());
    for (int again : {0, 1}) {
      absl::Status status = session->Settle();
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2: fragment \"picky\"")) << again;
    }
    EXPECT_EQ(session->steps(), 3u);
    for (size_t rank : {0, 1, 2}) {
      EXPECT_THAT(Get(session->executor(rank), 0), Each(6.0f)) << rank << " of " << ahead;
      EXPECT_THAT(Get(session->executor(rank), 2), Each(3.0f)) << rank << " of " << ahead;
    }
    std::vector<float> w(kSize);
    EXPECT_TRUE(session->GetValue(0, MutableBytesOf(w)).ok());
    EXPECT_THAT(w, Each(6.0f));
    EXPECT_TRUE(session->Metrics(2).ok());
    EXPECT_THAT(std::string(session->Metrics(3).status().message()), HasSubstr("picky"));
    EXPECT_THAT(std::string(session->SetValue(0, BytesOf(w)).message()), HasSubstr("picky"));
    EXPECT_THAT(std::string(session->Call(0, nullptr).status().message()), HasSubstr("batch"));
  }
}

TEST(SessionBackTest, ValuesThatWereSetAreGoneBackTo) {
  auto session = testing::Open(Picky(2));
  ASSERT_NE(session, nullptr);
  std::vector<int> n = {kSize};
  ASSERT_TRUE(session->SetSlot(1, BytesOf(n)).ok());
  for (float step : {1, 2, 3}) Call(session.get(), step);
  const std::vector<float> w(kSize, 100);
  ASSERT_TRUE(session->SetValue(0, BytesOf(w)).ok());
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(session->executor(0).Enqueue(0, Rows(1)).ok());
  ASSERT_TRUE(session->executor(1).Enqueue(0, Rows(-1)).ok());
  EXPECT_FALSE(session->Settle().ok());
  for (size_t rank : {0, 1}) EXPECT_THAT(Get(session->executor(rank), 0), Each(100.0f));
}

TEST(SessionBackTest, WhatServersHaveCanBeRead) {
  auto session = testing::Open(testing::ServerPlan({}));
  ASSERT_NE(session, nullptr);
  for (const char *count : {"n.w", "n.3", "n.2", "n.b"}) {
    uint32_t v = 0;
    while (session->values()[v].name != count) ++v;
    const std::vector<int> n = {1};
    ASSERT_TRUE(session->SetValue(v, BytesOf(n)).ok());
  }
  std::vector<std::vector<float>> set;
  for (uint32_t v = 0; v < session->values().size(); ++v) {
    if (session->values()[v].type.element != ops::Element::kF32) continue;
    set.emplace_back(session->values()[v].type.bytes / 4, float(v + 1));
    ASSERT_TRUE(session->SetValue(v, BytesOf(set.back())).ok());
  }
  session->executor(1).Cancel(absl::ResourceExhaustedError("out of patience"));
  EXPECT_EQ(std::string(session->Settle().message()), "rank 1: out of patience");
  for (uint32_t v = 0, i = 0; v < session->values().size(); ++v) {
    if (session->values()[v].type.element != ops::Element::kF32) continue;
    std::vector<float> value(set[i].size());
    absl::Status s = session->GetValue(v, MutableBytesOf(value));
    EXPECT_TRUE(s.ok()) << s;
    EXPECT_EQ(value, set[i++]) << session->values()[v].name;
  }
}

}  // namespace
}  // namespace commsched
