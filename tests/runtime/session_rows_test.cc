// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole steps with tables of which only rows travel, in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include "runtime/session/checkpoint.h"
#include "tests/runtime/row_plan.h"
#include "tests/runtime/session_values.h"
#include "tests/runtime/test_util.h"

namespace commsched::session_rows {
namespace {

using runtime::Session;
using testing::BytesOf;
using testing::Floats;
using testing::Get;
using ::testing::HasSubstr;
using testing::IndexOf;
using testing::MakeRowBatch;
using testing::MutableBytesOf;
using testing::RowBatch;
using testing::RowPlanOptions;
using testing::RowReference;
using testing::Set;

void Start(Session *session) {
  const RowReference start;
  for (const auto &[name, size] : testing::RowPlanSizes())
    Set(session, name, std::vector<int>{size});
  Set(session, "count", std::vector<int>{0});
  Set(session, "e", start.e);
  Set(session, "e.m", start.em);
  Set(session, "a", start.a);
  Set(session, "a.m", start.am);
  Set(session, "a.v", start.av);
  Set(session, "b", start.b);
}

std::unique_ptr<Session> Open(const RowPlanOptions &plan,
                              runtime::SessionOptions options = {}) {
  auto session = testing::Open(testing::RowPlan(plan), options);
  if (session != nullptr) Start(session.get());
  return session;
}

void ExpectSame(Session *session, const RowReference &reference) {
  EXPECT_EQ(Get(session, "e"), reference.e);
  EXPECT_EQ(Get(session, "e.m"), reference.em);
  EXPECT_EQ(Get(session, "a"), reference.a);
  EXPECT_EQ(Get(session, "a.m"), reference.am);
  EXPECT_EQ(Get(session, "a.v"), reference.av);
  EXPECT_EQ(Get(session, "b"), reference.b);
}

std::vector<RowBatch> Batches(int trainers, int step) {
  std::vector<RowBatch> batches;
  for (int t = 0; t < trainers; ++t) batches.push_back(MakeRowBatch(t, step));
  return batches;
}

// The batches of all trainers, one behind the other.
uint64_t Call(Session *session, int function, const std::vector<RowBatch> &batches) {
  auto all = std::make_shared<RowBatch>();
  for (const RowBatch &own : batches) {
    all->i.insert(all->i.end(), own.i.begin(), own.i.end());
    all->j.insert(all->j.end(), own.j.begin(), own.j.end());
    all->x.insert(all->x.end(), own.x.begin(), own.x.end());
    all->y.insert(all->y.end(), own.y.begin(), own.y.end());
  }
  runtime::GlobalBatch batch;
  batch.Set("i", BytesOf(all->i), all);
  if (function == 0) {
    batch.Set("j", BytesOf(all->j), all);
    batch.Set("x", BytesOf(all->x), all);
    batch.Set("y", BytesOf(all->y), all);
  }
  auto call = session->Call(function, &batch);
  EXPECT_TRUE(call.ok()) << call.status();
  return call.ok() ? *call : 0;
}

runtime::BatchRows Rows(int trainer, int step) {
  auto batch = std::make_shared<RowBatch>(MakeRowBatch(trainer, step));
  runtime::BatchRows rows;
  for (const void *p : {static_cast<const void *>(batch->i.data()),
                        static_cast<const void *>(batch->j.data()),
                        static_cast<const void *>(batch->x.data()),
                        static_cast<const void *>(batch->y.data())})
    rows.data.push_back(static_cast<const std::byte *>(p));
  rows.owner = batch;
  return rows;
}

class SessionRowsTest : public ::testing::TestWithParam<int> {};

TEST_P(SessionRowsTest, SynchronousTrainingIsExact) {
  const int trainers = GetParam();
  auto session = Open({.trainers = trainers});
  ASSERT_NE(session, nullptr);
  RowReference reference;
  std::vector<double> losses;
  std::vector<uint64_t> calls;
  for (int step = 0; step < 30; ++step) {
    const auto batches = Batches(trainers, step);
    losses.push_back(reference.Loss(batches[0]));
    reference.Step(batches);
    calls.push_back(Call(session.get(), 0, batches));
  }
  for (size_t k = 0; k < calls.size(); ++k) {
    auto metrics = session->Metrics(calls[k]);
    ASSERT_TRUE(metrics.ok()) << metrics.status();
    EXPECT_EQ((*metrics)[0], losses[k]) << k;
  }
  ExpectSame(session.get(), reference);
  EXPECT_TRUE(session->Finish().ok());
}

INSTANTIATE_TEST_SUITE_P(Trainers, SessionRowsTest, ::testing::Values(1, 2, 3, 5));

TEST(SessionRowsTest, OtherFunctionsSeeTheRowsOfTheStepsBeforeThem) {
  auto session = Open({.trainers = 1});
  ASSERT_NE(session, nullptr);
  RowReference reference;
  for (int step = 0; step < 6; ++step) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const RowBatch other = MakeRowBatch(7, step + repeat);
      uint64_t call = Call(session.get(), 1, {other});
      auto seen = session->Metrics(call);
      ASSERT_TRUE(seen.ok()) << seen.status();
      EXPECT_EQ((*seen)[0], reference.Loss(other));
    }
    // One that reads the table as a whole.
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto whole = session->Call(2, nullptr);
      ASSERT_TRUE(whole.ok()) << whole.status();
      float all = 0;
      for (float v : reference.e) all += v;
      EXPECT_EQ((*session->Metrics(*whole))[0], double(all));
      if (step != 3) continue;
      for (float &v : reference.e) v += 1;
      Set(session.get(), "e", reference.e);
    }
    Call(session.get(), 0, Batches(1, step));
    reference.Step(Batches(1, step));
  }
}

TEST(SessionRowsTest, CheckpointsHaveTheTablesAndResumeBitwise) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "c.safetensors";
  RowReference reference;
  for (int step = 0; step < 9; ++step) reference.Step(Batches(2, step));
  {
    auto session = Open({});
    ASSERT_NE(session, nullptr);
    for (int step = 0; step < 5; ++step) Call(session.get(), 0, Batches(2, step));
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 5).ok());
    for (int step = 5; step < 7; ++step) Call(session.get(), 0, Batches(2, step));
  }
  auto file = runtime::ReadTensorFile(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ToString(file->tensors.at("e.m").type), "f32[11,3]");
  auto session = testing::Open(testing::RowPlan({}));
  ASSERT_TRUE(LoadCheckpoint(session.get(), path).ok());
  for (int step = 5; step < 9; ++step) Call(session.get(), 0, Batches(2, step));
  ExpectSame(session.get(), reference);
}

TEST(SessionRowsTest, TrainerWithOneBatchLess) {
  auto session = Open({});
  ASSERT_NE(session, nullptr);
  RowReference reference;
  for (int step = 0; step < 4; ++step) {
    Call(session.get(), 0, Batches(2, step));
    reference.Step(Batches(2, step));
  }
  ASSERT_TRUE(session->Drain().ok());
  ASSERT_TRUE(session->executor(1).servers()->Finish(4).ok());
  ASSERT_TRUE(session->executor(0).Enqueue(0, Rows(0, 4)).ok());
  ASSERT_TRUE(session->executor(0).Drain().ok());
  reference.Step({MakeRowBatch(0, 4)});
  ExpectSame(session.get(), reference);
}

TEST(SessionRowsTest, HalfAsynchronousTrainersSendMeans) {
  auto session = Open(
      {.trainers = 1, .mode = plan::ParameterServers::HALF_ASYNC, .merge = 3});
  ASSERT_NE(session, nullptr);
  RowReference reference;
  std::vector<testing::SparseRows> ge;
  std::vector<Floats> gb;
  auto apply = [&] {
    const float rate = reference.Rate();
    reference.UpdateE(testing::MeanRows(ge, testing::kEColumns), rate);
    reference.UpdateB(testing::MeanOf(gb));
    ge.clear(), gb.clear();
  };
  for (int step = 0; step < 8; ++step) {
    const RowBatch batch = MakeRowBatch(0, step);
    uint64_t call = Call(session.get(), 0, {batch});
    auto metrics = session->Metrics(call);
    ASSERT_TRUE(metrics.ok()) << metrics.status();
    EXPECT_EQ((*metrics)[0], reference.Loss(batch)) << step;
    ge.push_back(reference.GradientE(batch));
    gb.push_back(batch.y);
    if (ge.size() == 3) apply();
  }
  ASSERT_TRUE(session->Finish().ok());
  apply();
  // The schedule keeps time with the blocks of e: a may be before it or behind it.
  EXPECT_EQ(Get(session.get(), "e"), reference.e);
  EXPECT_EQ(Get(session.get(), "e.m"), reference.em);
  EXPECT_EQ(Get(session.get(), "b"), reference.b);
}

TEST(SessionRowsTest, AsynchronousTrainersLoseNothing) {
  constexpr int kTrainers = 3, kSteps = 20;
  auto session =
      Open({.trainers = kTrainers, .mode = plan::ParameterServers::ASYNC});
  ASSERT_NE(session, nullptr);
  Call(session.get(), 0, Batches(kTrainers, 0));
  ASSERT_TRUE(session->Drain().ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < kTrainers; ++t)
    threads.emplace_back([&, t] {
      runtime::RankExecutor &executor = session->executor(size_t(t));
      for (int step = 1; step < kSteps - t; ++step)
        ASSERT_TRUE(executor.Enqueue(0, Rows(t, step)).ok());
      ASSERT_TRUE(executor.Drain().ok());
      ASSERT_TRUE(executor.servers()->Finish(uint64_t(kSteps - t)).ok());
    });
  for (std::thread &thread : threads) thread.join();
  Floats b = RowReference().b;
  for (int t = 0; t < kTrainers; ++t)
    for (int step = 0; step < kSteps - t; ++step)
      for (size_t k = 0; k < b.size(); ++k) b[k] -= MakeRowBatch(t, step).y[k] * 0.25f;
  EXPECT_EQ(Get(session.get(), "b"), b);
  // One trainer alone has no order to choose from in the blocks that pace the
  // schedules.
  auto alone = Open({.trainers = 1, .mode = plan::ParameterServers::ASYNC});
  RowReference reference;
  for (int step = 0; step < 10; ++step) {
    Call(alone.get(), 0, Batches(1, step));
    reference.Step(Batches(1, step));
  }
  EXPECT_EQ(Get(alone.get(), "e"), reference.e);
  EXPECT_EQ(Get(alone.get(), "e.m"), reference.em);
}

// Rows of the table that some id looks up.
template <typename Ids>
size_t Looked(const Ids &ids, int rows) {
  std::set<int64_t> looked;
  for (int64_t id : ids) looked.insert(std::clamp<int64_t>(id, 0, rows - 1));
  return looked.size();
}

TEST(SessionRowsTest, OnlyRowsOfTheBatchTravel) {
  auto session = Open({.trainers = 1});
  ASSERT_NE(session, nullptr);
  const RowReference reference;
  // b comes before the first step too.
  uint64_t sent = 0, received = 4 * testing::kB;
  for (int step = 0; step < 4; ++step) {
    const RowBatch batch = MakeRowBatch(0, step);
    Call(session.get(), 0, {batch});
    const size_t e = Looked(batch.i, testing::kERows);
    const size_t a = Looked(batch.j, testing::kARows);
    received += e * testing::kEColumns * 4 + a * testing::kAColumns * 4 + testing::kB * 4;
    // Requests, then messages of three blocks, if without rows.
    sent += 8 * (e + a) + 3 * 8 + testing::kB * 4 +
            reference.GradientE(batch).ids.size() * (8 + testing::kEColumns * 4) +
            reference.GradientA(batch).ids.size() * (8 + testing::kAColumns * 4);
  }
  ASSERT_TRUE(session->Drain().ok());
  EXPECT_EQ(session->executor(0).servers()->bytes_sent(), sent);
  EXPECT_EQ(session->executor(0).servers()->bytes_received(), received);
}

TEST(SessionRowsTest, MissingTrainerIsNamedWithServerAndBlock) {
  auto session = Open({.trainers = 3}, {absl::Milliseconds(200)});
  ASSERT_NE(session, nullptr);
  Call(session.get(), 0, Batches(3, 0));
  ASSERT_TRUE(session->Drain().ok());
  for (size_t t : {0, 2})
    for (int step : {1, 2})
      ASSERT_TRUE(session->executor(t).Enqueue(0, Rows(int(t), step)).ok());
  absl::Status status = session->Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("in step 1 still waits for the push of trainer 1"));
}

// Costs in the place of code: rows travel and are updated, to whatever values.
TEST(SessionRowsTest, Emulation) {
  testing::PlanBuilder plan = testing::RowPlan({});
  plan.proto().set_required_features(plan.proto().required_features() |
                                     uint64_t{1} << plan::FEATURE_COST_ONLY);
  plan.proto().mutable_cluster()->set_device_gb_per_s(10);
  for (plan::Function &f : *plan.proto().mutable_functions())
    for (plan::Instruction &i : *f.mutable_instructions()) {
      if (!i.has_run()) continue;
      const plan::Run run = i.run();
      i.mutable_delay()->set_nanoseconds(1000);
      *i.mutable_delay()->mutable_inputs() = run.inputs();
      *i.mutable_delay()->mutable_outputs() = run.outputs();
    }
  runtime::SessionOptions options;
  options.emulate = true;
  auto session = testing::Open(plan, options);
  ASSERT_NE(session, nullptr);
  runtime::ZeroBatch zeros;
  for (int step = 0; step < 4; ++step) {
    auto call = session->Call(0, &zeros);
    ASSERT_TRUE(call.ok()) << call.status();
  }
  absl::Status finished = session->Finish();
  EXPECT_TRUE(finished.ok()) << finished;
}

TEST(SessionRowsTest, DestructionInTheMiddleOfAStepDoesNotHang) {
  for (int run = 0; run < 10; ++run) {
    auto session = Open({});
    ASSERT_NE(session, nullptr);
    for (int step = 0; step < run % 4; ++step) Call(session.get(), 0, Batches(2, step));
    if (run % 4 == 3) {
      ASSERT_TRUE(session->executor(0).Enqueue(0, Rows(0, 9)).ok());
    }
  }
}

}  // namespace
}  // namespace commsched::session_rows
