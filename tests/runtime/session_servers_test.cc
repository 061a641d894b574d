// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trainers and parameter servers of one process, driven by a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <tuple>

#include "runtime/session/checkpoint.h"
#include "runtime/session/session.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/session_values.h"
#include "tests/runtime/test_util.h"

namespace commsched::session_servers {
namespace {

using runtime::Session;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::BytesOf;
using testing::Get;
using ::testing::HasSubstr;
using testing::IndexOf;
using testing::kBias;
using testing::kColumns;
using testing::kWeights;
using testing::MutableBytesOf;
using testing::ServerPlanOptions;
using testing::Set;

using Floats = std::vector<float>;

float X(int trainer, int step, int i) {
  return 1.0f / float(i + 5 * step + 3 * trainer + 2);
}
float Y(int trainer, int step, int i) { return float((i + step) % 4 + 4 * trainer); }

std::unique_ptr<Session> Open(const ServerPlanOptions &plan,
                              runtime::SessionOptions options = {}) {
  return testing::Open(testing::ServerPlan(plan), options);
}

void Start(Session *session) {
  Set(session, "n.w", std::vector<int>{kWeights});
  Set(session, "n.3", std::vector<int>{3 * kColumns});
  Set(session, "n.2", std::vector<int>{2 * kColumns});
  Set(session, "n.b", std::vector<int>{kBias});
  Set(session, "count", std::vector<int>{0});
  Floats w;
  for (int i = 0; i < kWeights; ++i) w.push_back(0.1f * float(i));
  Set(session, "w", w);
  Set(session, "w.momentum", Floats(kWeights, 0.25f));
  Set(session, "b", Floats(kBias, 64.0f));
}

runtime::BatchRows Rows(int trainer, int step) {
  auto batch = std::make_shared<std::pair<Floats, Floats>>();
  for (int i = 0; i < kWeights; ++i) batch->first.push_back(X(trainer, step, i));
  for (int i = 0; i < kBias; ++i) batch->second.push_back(Y(trainer, step, i));
  runtime::BatchRows rows;
  rows.data.push_back(reinterpret_cast<const std::byte *>(batch->first.data()));
  rows.data.push_back(reinterpret_cast<const std::byte *>(batch->second.data()));
  rows.owner = batch;
  return rows;
}

// The batches of all trainers.
uint64_t Step(Session *session, int step) {
  Floats x, y;
  for (int t = 0; t < session->image().nodes(); ++t) {
    for (int i = 0; i < kWeights; ++i) x.push_back(X(t, step, i));
    for (int i = 0; i < kBias; ++i) y.push_back(Y(t, step, i));
  }
  auto owner = std::make_shared<std::pair<Floats, Floats>>(std::move(x), std::move(y));
  runtime::GlobalBatch batch;
  batch.Set("x", BytesOf(owner->first), owner);
  batch.Set("y", BytesOf(owner->second), owner);
  auto call = session->Call(0, &batch);
  EXPECT_TRUE(call.ok()) << call.status();
  return call.ok() ? *call : 0;
}

// One device, in plain loops, with sums in the order of the ranks.
struct Reference {
  Floats w, m = Floats(kWeights, 0.25f), b = Floats(kBias, 64.0f);
  int count = 0;
  Reference() {
    for (int i = 0; i < kWeights; ++i) w.push_back(0.1f * float(i));
  }
  float Loss() const {
    float sum = 0;
    for (float v : w) sum += v;
    return sum;
  }
  void Step(int step, int trainers) {
    const float rate = 1.0f / float(2 + count++);
    const float scale = float(1.0 / trainers);
    for (int i = 0; i < kWeights; ++i) {
      float g = w[i] + X(0, step, i);
      for (int t = 1; t < trainers; ++t) g = g + (w[i] + X(t, step, i));
      if (trainers > 1) g = g * scale;
      m[i] = m[i] * 0.5f + g;
      w[i] = w[i] - rate * m[i];
    }
    for (int i = 0; i < kBias; ++i) {
      float g = Y(0, step, i);
      for (int t = 1; t < trainers; ++t) g = g + Y(t, step, i);
      if (trainers > 1) g = g * scale;
      b[i] = b[i] - g * 0.25f;
    }
  }
};

// Trainers, and whether what server 1 has shares messages.
class SessionServersTest : public ::testing::TestWithParam<std::tuple<int, bool>> {};
class FusedServersTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Fused, FusedServersTest, ::testing::Bool());

TEST_P(SessionServersTest, SynchronousTrainingIsExact) {
  const auto [trainers, fused] = GetParam();
  // The mean of one or two equal losses is the loss to the last bit.
  auto session =
      Open({.trainers = trainers, .shared_loss = trainers <= 2 && !fused, .fused = fused});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  Reference reference;
  Floats losses;
  std::vector<uint64_t> calls;
  for (int step = 0; step < 30; ++step) {
    losses.push_back(reference.Loss());
    reference.Step(step, trainers);
    calls.push_back(Step(session.get(), step));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    auto metrics = session->Metrics(calls[i]);
    ASSERT_TRUE(metrics.ok()) << metrics.status();
    EXPECT_EQ((*metrics)[0], double(losses[i])) << i;
  }
  EXPECT_EQ(Get(session.get(), "w"), reference.w);
  EXPECT_EQ(Get(session.get(), "w.momentum"), reference.m);
  EXPECT_EQ(Get(session.get(), "b"), reference.b);
  EXPECT_EQ(Get<int>(session.get(), "count"), std::vector<int>{30});
  // Every trainer has the same.
  ASSERT_TRUE(session->Drain().ok());
  for (size_t t = 0; t < size_t(trainers); ++t) {
    Floats w(kWeights);
    ASSERT_TRUE(session->executor(t).GetSlot(0, MutableBytesOf(w)).ok());
    EXPECT_EQ(w, reference.w);
  }
  EXPECT_TRUE(session->Finish().ok());
}

INSTANTIATE_TEST_SUITE_P(Trainers, SessionServersTest,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5), ::testing::Bool()));

TEST_P(FusedServersTest, CheckpointsHaveTheWholesAndResumeBitwise) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "c.safetensors";
  Reference reference;
  for (int step = 0; step < 11; ++step) reference.Step(step, 2);
  {
    auto session = Open({.fused = GetParam()});
    ASSERT_NE(session, nullptr);
    Start(session.get());
    for (int step = 0; step < 6; ++step) Step(session.get(), step);
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 6).ok());
    for (int step = 6; step < 8; ++step) Step(session.get(), step);
    ASSERT_TRUE(SaveParameters(session.get(), folder / "p").ok());
  }
  auto file = runtime::ReadTensorFile(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ToString(file->tensors.at("w.momentum").type), "f32[5,4]");
  EXPECT_EQ(file->tensors.count("rate"), 0u);
  EXPECT_EQ(file->tensors.count("w.block0"), 0u);
  auto parameters = runtime::ReadTensorFile(folder / "p");
  ASSERT_TRUE(parameters.ok());
  EXPECT_EQ(parameters->tensors.size(), 2u);
  auto session = Open({.fused = GetParam()});
  auto step = LoadCheckpoint(session.get(), path);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(*step, 6u);
  for (int s = 6; s < 11; ++s) Step(session.get(), s);
  EXPECT_EQ(Get(session.get(), "w"), reference.w);
  EXPECT_EQ(Get(session.get(), "w.momentum"), reference.m);
  EXPECT_EQ(Get(session.get(), "b"), reference.b);
}

TEST_P(FusedServersTest, ValuesCanBeSetBetweenSteps) {
  auto session = Open({.fused = GetParam()});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  for (int step = 0; step < 5; ++step) Step(session.get(), step);
  ASSERT_TRUE(session->Drain().ok());
  Start(session.get());
  Reference reference;
  for (int step = 0; step < 5; ++step) {
    Step(session.get(), step);
    reference.Step(step, 2);
  }
  EXPECT_EQ(Get(session.get(), "w"), reference.w);
}

TEST(SessionServersTest, TrainersGetWhatServersHaveOfSharedMessages) {
  auto session = Open({.fused = true});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  Reference reference;
  Step(session.get(), 0);
  reference.Step(0, 2);
  ASSERT_TRUE(session->Finish().ok());
  ASSERT_TRUE(session->FinalValues().ok());
  Floats w(kWeights), b(kBias);
  ASSERT_TRUE(session->executor(1).GetSlot(0, MutableBytesOf(w)).ok());
  ASSERT_TRUE(session->executor(1).GetSlot(1, MutableBytesOf(b)).ok());
  EXPECT_EQ(w, reference.w);
  EXPECT_EQ(b, reference.b);
}

TEST(SessionServersTest, TrainerWithOneBatchLess) {
  auto session = Open({.together = true, .shared_loss = true});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  Reference reference;
  for (int step = 0; step < 4; ++step) {
    Step(session.get(), step);
    reference.Step(step, 2);
  }
  ASSERT_TRUE(session->Drain().ok());
  ASSERT_TRUE(session->executor(1).servers()->Finish(4).ok());
  auto call = session->executor(0).Enqueue(0, Rows(0, 4));
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(session->executor(0).Drain().ok());
  EXPECT_EQ((*session->executor(0).Metrics(*call))[0], double(reference.Loss()));
  reference.Step(4, 1);
  EXPECT_EQ(Get(session.get(), "w"), reference.w);
  EXPECT_EQ(Get(session.get(), "b"), reference.b);
}

TEST(SessionServersTest, MissingTrainerIsNamedWithServerAndBlock) {
  auto session = Open({.trainers = 3}, {absl::Milliseconds(200)});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  Step(session.get(), 0);
  ASSERT_TRUE(session->Drain().ok());
  for (size_t t : {0, 2})
    ASSERT_TRUE(session->executor(t).Enqueue(0, Rows(int(t), 1)).ok());
  absl::Status status = session->Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank "), HasSubstr("pull of \""), HasSubstr("(test.mlir:1:1)"),
                    HasSubstr("at version 2: server "), HasSubstr("no progress within 200ms"),
                    HasSubstr("in step 1 still waits for the push of trainer 1")));
}

TEST(SessionServersTest, TrainerThatGivesUpEndsTheOthersWithItsReason) {
  auto session = Open({});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  Step(session.get(), 0);
  ASSERT_TRUE(session->executor(0).Enqueue(0, Rows(0, 1)).ok());
  session->executor(1).Cancel(absl::ResourceExhaustedError("out of patience"));
  EXPECT_EQ(std::string(session->Drain().message()), "rank 1: out of patience");
  EXPECT_THAT(std::string(session->executor(0).Drain().message()),
              AllOf(AnyOf(HasSubstr("trainer 1 gave up: "), HasSubstr("peer 1")),
                    HasSubstr("out of patience")));
}

TEST_P(FusedServersTest, AsynchronousTrainersLoseNothing) {
  constexpr int kTrainers = 3, kSteps = 20;
  auto session = Open({.trainers = kTrainers,
                       .mode = plan::ParameterServers::ASYNC,
                       .fused = GetParam()});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  // Each at its own speed, one with fewer steps. Whole numbers, so that the order
  // does not matter: b is what it was less a quarter of all gradients.
  Floats expected(kBias, 64.0f);
  Step(session.get(), 0);
  ASSERT_TRUE(session->Drain().ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < kTrainers; ++t)
    threads.emplace_back([&, t] {
      const int steps = kSteps - t;
      runtime::RankExecutor &executor = session->executor(size_t(t));
      for (int step = 1; step < steps; ++step)
        ASSERT_TRUE(executor.Enqueue(0, Rows(t, step)).ok());
      ASSERT_TRUE(executor.Drain().ok());
      ASSERT_TRUE(executor.servers()->Finish(uint64_t(steps)).ok());
    });
  for (std::thread &thread : threads) thread.join();
  for (int t = 0; t < kTrainers; ++t)
    for (int step = 0; step < kSteps - t; ++step)
      for (int i = 0; i < kBias; ++i) expected[i] -= Y(t, step, i) * 0.25f;
  EXPECT_EQ(Get(session.get(), "b"), expected);
}

TEST_P(FusedServersTest, HalfAsynchronousTrainersSendMeans) {
  auto session = Open(
      {.trainers = 1, .mode = plan::ParameterServers::HALF_ASYNC, .merge = 3, .fused = GetParam()});
  ASSERT_NE(session, nullptr);
  Start(session.get());
  Reference reference;
  Floats sum(kWeights), bias(kBias);
  int merged = 0;
  auto apply = [&] {
    const float rate = 1.0f / float(2 + reference.count++);
    const float scale = float(1.0 / merged);
    for (int i = 0; i < kWeights; ++i) {
      float g = merged > 1 ? sum[i] * scale : sum[i];
      reference.m[i] = reference.m[i] * 0.5f + g;
      reference.w[i] = reference.w[i] - rate * reference.m[i];
    }
    for (int i = 0; i < kBias; ++i)
      reference.b[i] -= (merged > 1 ? bias[i] * scale : bias[i]) * 0.25f;
    merged = 0;
  };
  for (int step = 0; step < 8; ++step) {
    uint64_t call = Step(session.get(), step);
    auto metrics = session->Metrics(call);
    ASSERT_TRUE(metrics.ok());
    EXPECT_EQ((*metrics)[0], double(reference.Loss())) << step;
    for (int i = 0; i < kWeights; ++i)
      sum[i] = merged == 0 ? reference.w[i] + X(0, step, i)
                           : sum[i] + (reference.w[i] + X(0, step, i));
    for (int i = 0; i < kBias; ++i) bias[i] = (merged == 0 ? 0 : bias[i]) + Y(0, step, i);
    if (++merged == 3) apply();
  }
  EXPECT_EQ(Get(session.get(), "w"), reference.w);
  // The two of the end go with Finish.
  ASSERT_TRUE(session->Finish().ok());
  apply();
  EXPECT_EQ(Get(session.get(), "w"), reference.w);
  EXPECT_EQ(Get(session.get(), "b"), reference.b);
}

TEST(SessionServersTest, DestructionInTheMiddleOfAStepDoesNotHang) {
  for (int run = 0; run < 10; ++run) {
    auto session = Open({});
    ASSERT_NE(session, nullptr);
    Start(session.get());
    for (int step = 0; step < run % 4; ++step) Step(session.get(), step);
    if (run % 4 == 3) {
      ASSERT_TRUE(session->executor(0).Enqueue(0, Rows(0, 9)).ok());
    }
  }
}

}  // namespace
}  // namespace commsched::session_servers
