// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "runtime/session/session.h"
#include "tests/runtime/plan_builder.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using runtime::GlobalBatch;
using runtime::Session;
using testing::PlanBuilder;

using testing::BytesOf;
using testing::MutableBytesOf;
using testing::Open;
using testing::Trainer;

constexpr int kSize = testing::kTrainerSize;

class TrainerTest
    : public ::testing::TestWithParam<std::tuple<int, bool, bool>> {};

TEST_P(TrainerTest, PipelinedStepsGiveWhatOneWorkerWould) {
  auto [nodes, deferred, halving] = GetParam();
  auto session = Open(Trainer(nodes, deferred, halving));
  ASSERT_NE(session, nullptr);
  std::vector<float> w(kSize, 1.0f);
  std::vector<int> n = {kSize};
  ASSERT_TRUE(session->SetSlot(0, BytesOf(w)).ok());
  ASSERT_TRUE(session->SetSlot(1, BytesOf(n)).ok());
  constexpr int kSteps = 50;
  std::vector<double> expected;
  std::vector<uint64_t> calls;
  for (int step = 0; step < kSteps; ++step) {
    double total = 0;
    for (float v : w) total += v;
    expected.push_back(total);
    // Whole numbers, with a sum that N divides: the mean is exact.
    auto x = std::make_shared<std::vector<float>>();
    for (int r = 0; r < nodes; ++r)
      for (int i = 0; i < kSize; ++i)
        x->push_back(float((i + step) % 5 + (r == 0 ? (nodes - 1) * nodes : -nodes)));
    for (int i = 0; i < kSize; ++i) w[size_t(i)] += float((i + step) % 5);
    GlobalBatch batch;
    batch.Set("x", BytesOf(*x), x);
    auto call = session->Call(0, &batch);
    ASSERT_TRUE(call.ok()) << call.status();
    calls.push_back(*call);
    if (step % 20 == 19) {
      auto eval = session->Call(1, nullptr);
      ASSERT_TRUE(eval.ok()) << eval.status();
      auto value = session->Metrics(*eval);
      ASSERT_TRUE(value.ok()) << value.status();
      double sum = 0;
      for (float v : w) sum += v;
      EXPECT_FLOAT_EQ((*value)[0], sum);
    }
  }
  ASSERT_TRUE(session->Drain().ok());
  for (size_t i = 0; i < calls.size(); ++i) {
    auto values = session->Metrics(calls[i]);
    ASSERT_TRUE(values.ok()) << values.status();
    ASSERT_THAT(*values, ::testing::SizeIs(1));
    EXPECT_NEAR((*values)[0], expected[i], 1e-3 * std::abs(expected[i])) << i;
  }
  for (int r = 0; r < nodes; ++r) {
    std::vector<float> got(kSize);
    ASSERT_TRUE(session->executor(size_t(r)).GetSlot(0, MutableBytesOf(got)).ok());
    for (int i = 0; i < kSize; ++i)
      EXPECT_NEAR(got[size_t(i)], w[size_t(i)], 1e-3) << "rank " << r << " at " << i;
  }
  EXPECT_EQ(session->executor(0).Stats(0).calls, uint64_t(kSteps));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, TrainerTest,
    ::testing::Combine(::testing::Values(1, 2, 3, 4, 7), ::testing::Bool(),
                       ::testing::Bool()));

TEST(ExecutorTest, TwoRunsAreBitwiseEqual) {
  std::vector<float> first, w(kSize);
  for (int run = 0; run < 2; ++run) {
    auto session = Open(Trainer(4));
    ASSERT_NE(session, nullptr);
    testing::StartTrainer(session.get(), 0.1f);
    testing::RunTrainer(session.get(), 0, 20);
    ASSERT_TRUE(session->GetSlot(0, MutableBytesOf(w)).ok());
    if (run == 0)
      first = w;
    else
      EXPECT_EQ(0, std::memcmp(w.data(), first.data(), w.size() * sizeof(float)));
  }
}

// A deferred instruction that nothing waits for runs all the same, and one
// that holds up the stream runs before it.
TEST(ExecutorTest, DeferredInstructionsRunLateButRun) {
  PlanBuilder plan(1);
  uint32_t a = plan.Slot("a", plan::F32, {1}), n = plan.Slot("n", plan::I32, {}, false);
  auto f = plan.Function("step");
  uint32_t now = f.Slot(false, a, plan::F32, {1}), next = f.Slot(true, a, plan::F32, {1});
  uint32_t nc = f.Slot(false, n, plan::I32, {});
  uint32_t one = f.Arena(plan::F32, {1}), two = f.Arena(plan::F32, {1}),
           unused = f.Arena(plan::F32, {1});
  f.Run("twice", {nc, now}, {unused}, {{3, 1}, {0, 1}}, true);
  f.Run("twice", {nc, now}, {one}, {{3, 1}, {2, 1}}, true);
  f.Run("twice", {nc, one}, {two}, {{1}, {3, 1}});
  f.Run("twice", {nc, two}, {next}, {{2}, {0, 1}, {1, 1}}, true);
  f.Output("unused", unused);
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  std::vector<float> value = {1};
  std::vector<int> size = {1};
  ASSERT_TRUE(session->SetSlot(0, BytesOf(value)).ok());
  ASSERT_TRUE(session->SetSlot(1, BytesOf(size)).ok());
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(session->Call(0, nullptr).ok());
  ASSERT_TRUE(session->GetSlot(0, MutableBytesOf(value)).ok());
  EXPECT_EQ(value[0], 32768.0f);  // 8 ^ 5
  for (uint64_t step = 0; step < 5; ++step)
    EXPECT_EQ((*session->Metrics(step))[0], 2 * std::pow(8.0, double(step)));
}

// The same instructions and values, drawn, whoever runs them: where nothing has a thread, only while its own thread waits.
TEST(ExecutorTest, RunsWhereItIsAwaited) {
  std::mt19937 random(1);
  for (int time = 0; time < 20; ++time) {
    PlanBuilder plan(1);
    uint32_t a = plan.Slot("a", plan::F32, {1}), n = plan.Slot("n", plan::I32, {}, false);
    auto f = plan.Function("step");
    uint32_t now = f.Slot(false, a, plan::F32, {1}), next = f.Slot(true, a, plan::F32, {1}), nc = f.Slot(false, n, plan::I32, {});
    const int most = 1 + int(random() % 4);
    uint32_t from = now;
    for (int i = 0; i < most; ++i) {
      uint32_t to = i + 1 == most ? next : f.Arena(plan::F32, {1});
      if (i == 0)
        f.Run("twice", {nc, from}, {to}, {{uint32_t(most - 1), 1}});
      else
        f.Run("twice", {nc, from}, {to}, {{uint32_t(i - 1)}});
      from = to;
    }
    f.Output("last", next);
    auto image = runtime::PlanImage::Load(plan.Bytes());
    ASSERT_TRUE(image.ok()) << image.status();
    auto program = (*image)->ForRank(0);
    ASSERT_TRUE(program.ok()) << program.status();
    runtime::ExecutorOptions options;
    options.runs_where_awaited = true;
    auto executor = runtime::Executor::Create(*program, std::move(options));
    ASSERT_TRUE(executor.ok()) << executor.status();
    const float begin = 1;
    const int one = 1;
    ASSERT_TRUE((*executor)->SetSlot(0, absl::MakeConstSpan(reinterpret_cast<const std::byte *>(&begin), 4)).ok());
    ASSERT_TRUE((*executor)->SetSlot(1, absl::MakeConstSpan(reinterpret_cast<const std::byte *>(&one), 4)).ok());
    double expected = 1;
    uint64_t last = 0;
    const int calls = 1 + int(random() % 8);
    for (int call = 0; call < calls; ++call) {
      auto begun = (*executor)->Enqueue(0, {});
      ASSERT_TRUE(begun.ok()) << begun.status();
      last = *begun;
      expected *= std::pow(2.0, most);
    }
    // Nobody runs it for somebody else: who waits elsewhere has it when this thread has waited.
    EXPECT_LT((*executor)->completed(), uint64_t(calls));
    double other = 0;
    std::thread elsewhere([&] { other = (*executor)->Metrics(last).value()[0]; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LT((*executor)->completed(), uint64_t(calls));
    switch (random() % 3) {
      case 0:
        EXPECT_EQ((*executor)->Metrics(last).value()[0], expected);
        break;
      case 1:
        EXPECT_TRUE((*executor)->Drain().ok());
        break;
      default: {
        auto shared = (*executor)->ShareSlot(0);
        ASSERT_TRUE(shared.ok()) << shared.status();
        float value;
        std::memcpy(&value, shared->bytes.data(), 4);
        EXPECT_EQ(value, float(expected));
        EXPECT_TRUE((*executor)->Drain().ok());
      }
    }
    elsewhere.join();
    EXPECT_EQ(other, expected);
  }
}

// A metric that is a part of what several instructions write is reported when
// the last of them that writes its memory is complete.
TEST(ExecutorTest, MetricsInPartsOfMessages) {
  PlanBuilder plan(2);
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", plan::F32, {1, 4});
  uint32_t area = f.Arena(plan::F32, {4});
  uint32_t message = f.Part(area, 4, plan::F32, {2});
  uint32_t summed = f.Part(area, 8, plan::F32, {}), own = f.Part(area, 12, plan::F32, {});
  uint32_t copy = f.Copy(x, area, {{1, 1}});
  f.Communicate("m", message, testing::RingAllReduce(2, plan::SUM, 0), {{copy}});
  f.Output("summed", summed);
  f.Output("own", own);
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  for (int step = 0; step < 20; ++step) {
    std::vector<float> rows(8);
    for (int i = 0; i < 8; ++i) rows[size_t(i)] = float(10 * step + i);
    runtime::GlobalBatch batch;
    batch.Set("x", BytesOf(rows), nullptr);
    auto call = session->Call(0, &batch);
    ASSERT_TRUE(call.ok()) << call.status();
    auto values = session->Metrics(*call);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_THAT(*values, ::testing::ElementsAre(20 * step + 8, 10 * step + 3));
  }
}

// A metric beside what is written has no value.
TEST(ExecutorTest, MetricsThatNothingWritesAreRefused) {
  PlanBuilder plan(1);
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", plan::F32, {1, 2});
  uint32_t area = f.Arena(plan::F32, {4});
  f.Copy(x, f.Part(area, 4, plan::F32, {2}));
  f.Output("m", f.Part(area, 12, plan::F32, {}));
  EXPECT_THAT(testing::LoadError(plan.Bytes()),
              ::testing::HasSubstr("nothing writes metric \"m\""));
}

// Two steps overlap: rank 0 begins step 1 before rank 1 has done its part of
// step 0's communication. Otherwise this would not end.
TEST(ExecutorTest, NextStepBeginsBeforeTheCommunicationHasEnded) {
  PlanBuilder plan(2);
  auto f = plan.Function("step");
  uint32_t g = f.Arena(plan::F32, {8});
  uint32_t x = f.Batch("x", plan::F32, {1, 8});
  uint32_t begun = f.Delay(0, {});
  uint32_t first = f.Copy(x, g, {{2, 1}});
  f.Communicate("g", g, testing::RingAllReduce(2, plan::SUM, 0), {{first}, {begun}});
  auto image = runtime::PlanImage::Load(plan.Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  runtime::TraceRecorder trace;
  auto session = Session::InProcess(*image, {absl::Seconds(30), &trace});
  ASSERT_TRUE(session.ok());
  std::vector<float> rows(8, 1.0f);
  auto rows_of = [&] {
    runtime::BatchRows r;
    r.data.push_back(reinterpret_cast<const std::byte *>(rows.data()));
    return r;
  };
  // Only rank 0 is called: its delay of step 1 runs although the all-reduce of
  // step 0 cannot.
  ASSERT_TRUE((*session)->executor(0).Enqueue(0, rows_of()).ok());
  ASSERT_TRUE((*session)->executor(0).Enqueue(0, rows_of()).ok());
  auto delays = [&] {
    std::string json = trace.ToJson();
    int count = 0;
    for (size_t at = 0; (at = json.find("\"delay\"", at)) != json.npos; ++at) ++count;
    return count;
  };
  while (delays() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE((*session)->executor(1).Enqueue(0, rows_of()).ok());
  ASSERT_TRUE((*session)->executor(1).Enqueue(0, rows_of()).ok());
  EXPECT_TRUE((*session)->Drain().ok());
}

TEST(ExecutorTest, KernelsRunInsideFragments) {
  PlanBuilder plan(1);
  uint32_t c = plan.Slot("c", plan::F32, {2, 2});
  auto f = plan.Function("step");
  uint32_t a = f.Batch("a", plan::F32, {2, 3});
  uint32_t b = f.Batch("b", plan::F32, {3, 2});
  uint32_t out = f.Slot(true, c, plan::F32, {2, 2});
  f.Run("product", {a, b}, {out});
  plan::Kernel *kernel = plan.proto().add_kernels();
  kernel->set_kind("matmul");
  for (auto [rows, columns] : {std::pair{2, 3}, {3, 2}, {2, 2}}) {
    plan::KernelTensor *t = kernel->add_operands();
    t->set_element(plan::F32);
    t->add_dims(rows);
    t->add_dims(columns);
    t->add_strides(columns);
    t->add_strides(1);
  }
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  std::vector<float> va = {1, 2, 3, 4, 5, 6}, vb = {1, 0, 0, 1, 1, 1}, vc(4);
  GlobalBatch batch;
  batch.Set("a", BytesOf(va), nullptr);
  batch.Set("b", BytesOf(vb), nullptr);
  ASSERT_TRUE(session->Call(0, &batch).ok());
  ASSERT_TRUE(session->GetSlot(0, MutableBytesOf(vc)).ok());
  EXPECT_THAT(vc, ::testing::ElementsAre(4, 5, 10, 11));
}

TEST(ExecutorTest, UnknownKernelEndsEveryRankWithTheFragmentsName) {
  PlanBuilder plan(2);
  uint32_t c = plan.Slot("c", plan::F32, {1});
  auto f = plan.Function("step");
  f.Run("bad_kernel", {}, {f.Slot(true, c, plan::F32, {1})});
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  // Rank 0 may have failed before rank 1 gets the call.
  absl::StatusOr<uint64_t> call = session->Call(0, nullptr);
  absl::Status status = call.ok() ? session->Drain() : call.status();
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(::testing::HasSubstr("bad_kernel"),
                               ::testing::HasSubstr("test.mlir:1:1"),
                               ::testing::HasSubstr("rank ")));
  EXPECT_FALSE(session->Call(0, nullptr).ok());
}

TEST(ExecutorTest, MissingBatchIsNamed) {
  auto session = Open(Trainer(2, false, false));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(std::string(session->Call(0, nullptr).status().message()),
              ::testing::HasSubstr("needs batch \"x\""));
  std::vector<float> few(kSize);
  GlobalBatch batch;
  batch.Set("x", BytesOf(few), nullptr);
  EXPECT_THAT(std::string(session->Call(0, &batch).status().message()),
              ::testing::HasSubstr("must match 2 x f32[1,100] = 800 bytes, got: 400"));
}

TEST(ExecutorTest, MetricsOfACallThatIsNotThere) {
  auto session = Open(Trainer(1, false, false));
  ASSERT_NE(session, nullptr);
  EXPECT_FALSE(session->Metrics(0).ok());
}

}  // namespace
}  // namespace commsched
