// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server by itself: pushes and pulls are made by the test.
#include "runtime/parameter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "runtime/status_util.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using runtime::ParameterServer;
using runtime::ParameterServerOptions;
using runtime::PlanImage;
using runtime::SharedBytes;
using testing::BytesOf;
using testing::MutableBytesOf;
using testing::ServerPlanOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Floats = std::vector<float>;

// Block 1 of server 1 of the plan is "b": b' = b - g / 4. Its block 0 is the
// last two rows of "w".
constexpr uint32_t kW = 0, kB = 1;
constexpr int kRest = 2 * testing::kColumns;

SharedBytes Payload(Floats values) {
  auto owned = std::make_shared<Floats>(std::move(values));
  return {BytesOf(*owned), owned};
}

// A gradient that depends on trainer, step and block.
Floats Gradient(int trainer, int step, int size) {
  Floats g;
  for (int i = 0; i < size; ++i)
    g.push_back(1.0f / float(3 * i + 7 * trainer + 11 * step + 3));
  return g;
}

// One server, and what it must hold.
class Server {
 public:
  explicit Server(ServerPlanOptions plan = {}, absl::Duration deadline = absl::Seconds(30),
                  int index = 1)
      : trainers_(plan.trainers) {
    auto image = PlanImage::Load(testing::ServerPlan(plan).Bytes());
    EXPECT_TRUE(image.ok()) << image.status();
    ParameterServerOptions options;
    options.server = index;
    options.trainers = plan.trainers;
    options.deadline = deadline;
    options.on_failure = [this](const absl::Status &) { ++failures_; };
    auto made = ParameterServer::Create(*image, options);
    EXPECT_TRUE(made.ok()) << made.status();
    server_ = *std::move(made);
    for (const auto &value : (*image)->values()) {
      if (value.name.substr(0, 2) != "n.") continue;
      std::vector<int> n = {value.name == "n.w"   ? testing::kWeights
                            : value.name == "n.3" ? 3 * testing::kColumns
                            : value.name == "n.2" ? kRest
                                                  : testing::kBias};
      EXPECT_TRUE(server_->SetWhole(value.name, BytesOf(n)).ok());
    }
  }
  ~Server() { server_.reset(); }
  ParameterServer *operator->() { return server_.get(); }

  void Start() {
    EXPECT_TRUE(server_->SetWhole("w", BytesOf(Floats(testing::kWeights, 1.0f))).ok());
    EXPECT_TRUE(server_->SetWhole("b", BytesOf(Floats(testing::kBias, 2.0f))).ok());
    Join();
  }
  void Join() {
    for (int t = 0; t < trainers_; ++t) EXPECT_TRUE(server_->Join(t).ok());
  }
  absl::Status Push(int trainer, uint32_t block, int step) {
    return Push(trainer, block, step,
                Gradient(trainer, step, block == kB ? testing::kBias : kRest));
  }
  absl::Status Push(int trainer, uint32_t block, int step, Floats values) {
    std::promise<absl::Status> done;
    server_->Push(trainer, block, uint64_t(step), Payload(std::move(values)),
                  [&](absl::Status s) { done.set_value(std::move(s)); });
    return done.get_future().get();
  }
  // All trainers push all blocks of a step.
  void PushAll(int step) {
    for (int t = 0; t < trainers_; ++t)
      for (uint32_t b : {kW, kB}) EXPECT_TRUE(Push(t, b, step).ok());
  }
  absl::StatusOr<Floats> Pull(int trainer, uint32_t block, int version) {
    std::promise<absl::StatusOr<Floats>> done;
    server_->Pull(trainer, block, uint64_t(version), [&](absl::StatusOr<SharedBytes> v) {
      if (!v.ok()) return done.set_value(runtime::Unshared(v.status()));
      Floats values(v->bytes.size() / sizeof(float));
      std::memcpy(values.data(), v->bytes.data(), v->bytes.size());
      done.set_value(values);
    });
    return done.get_future().get();
  }
  int failures() const { return failures_; }

 private:
  int trainers_;
  std::atomic<int> failures_{0};
  std::unique_ptr<ParameterServer> server_;
};

// The same in plain loops.
struct Reference {
  Floats w = Floats(kRest, 1.0f), m = Floats(kRest, 0.0f), b = Floats(testing::kBias, 2.0f);
  int count = 0;

  static Floats Mean(const std::vector<Floats> &gradients) {
    Floats sum = gradients[0];
    for (size_t t = 1; t < gradients.size(); ++t)
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[t][i];
    if (gradients.size() > 1)
      for (float &v : sum) v *= float(1.0 / double(gradients.size()));
    return sum;
  }
  void UpdateW(const Floats &g, float rate) {
    for (size_t i = 0; i < w.size(); ++i) {
      m[i] = m[i] * 0.5f + g[i];
      w[i] = w[i] - rate * m[i];
    }
  }
  void UpdateB(const Floats &g) {
    for (size_t i = 0; i < b.size(); ++i) b[i] = b[i] - g[i] * 0.25f;
  }
  float Rate() { return 1.0f / float(2 + count++); }
  // A synchronous step of these trainers.
  void Step(int step, const std::vector<int> &trainers) {
    std::vector<Floats> gw, gb;
    for (int t : trainers) {
      gw.push_back(Gradient(t, step, kRest));
      gb.push_back(Gradient(t, step, testing::kBias));
    }
    UpdateW(Mean(gw), Rate());
    UpdateB(Mean(gb));
  }
};

// Blocks that are updated one by one, and together.
class SynchronousServerTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Blocks, SynchronousServerTest, ::testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "Together" : "OneByOne";
                         });

TEST_P(SynchronousServerTest, SynchronousStepsAreExactWhateverTheOrderOfArrival) {
  Server server({.trainers = 3, .together = GetParam()});
  server.Start();
  Reference reference;
  EXPECT_EQ(*server.Pull(0, kB, 0), reference.b);
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  for (int step = 0; step < 12; ++step) {
    for (int t : orders[size_t(step) % 4])
      for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(t, b, step).ok());
    reference.Step(step, {0, 1, 2});
    for (int t = 0; t < 3; ++t) {
      EXPECT_EQ(*server.Pull(t, kW, step + 1), reference.w);
      EXPECT_EQ(*server.Pull(t, kB, step + 1), reference.b);
    }
  }
  for (int t = 0; t < 3; ++t) EXPECT_TRUE(server->Finish(t, 12).ok());
  EXPECT_TRUE(server->Wait().ok());
  EXPECT_EQ(server.failures(), 0);
}

TEST(ParameterServerTest, SumWithoutMean) {
  Server server({.trainers = 2, .mean = false});
  server.Start();
  ASSERT_TRUE(server.Push(0, kB, 0, Floats(7, 3.0f)).ok());
  ASSERT_TRUE(server.Push(1, kB, 0, Floats(7, 5.0f)).ok());
  // The schedule does not hold up the others.
  ASSERT_TRUE(server.Push(0, kW, 0).ok());
  EXPECT_EQ(*server.Pull(0, kB, 1), Floats(7, 0.0f));
}

TEST_P(SynchronousServerTest, PushesFromManyThreads) {
  constexpr int kTrainers = 4, kSteps = 40;
  Server server({.trainers = kTrainers, .together = GetParam()});
  server.Start();
  std::vector<std::thread> threads;
  std::vector<Floats> last(kTrainers);
  for (int t = 0; t < kTrainers; ++t)
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; ++step) {
        for (uint32_t b : {kB, kW}) ASSERT_TRUE(server.Push(t, b, step).ok());
        for (uint32_t b : {kB, kW}) {
          auto value = server.Pull(t, b, step + 1);
          ASSERT_TRUE(value.ok()) << value.status();
          last[size_t(t)] = *std::move(value);
        }
      }
      ASSERT_TRUE(server->Finish(t, kSteps).ok());
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(server->Wait().ok());
  Reference reference;
  for (int step = 0; step < kSteps; ++step) reference.Step(step, {0, 1, 2, 3});
  for (const Floats &w : last) EXPECT_EQ(w, reference.w);
}

TEST_P(SynchronousServerTest, RepeatedPushesCountOnce) {
  Server server({.together = GetParam()});
  server.Start();
  Reference reference;
  for (int step = 0; step < 4; ++step) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      server.PushAll(step);
      if (step > 0) server.PushAll(step - 1);
    }
    reference.Step(step, {0, 1});
    EXPECT_EQ(*server.Pull(0, kW, step + 1), reference.w);
  }
  EXPECT_THAT(server->taken(1).next, ::testing::ElementsAre(4, 4));
}

TEST_P(SynchronousServerTest, EarlyPushIsKept) {
  Server server({.together = GetParam()});
  server.Start();
  for (uint32_t b : {kW, kB}) {
    ASSERT_TRUE(server.Push(1, b, 0).ok());
    ASSERT_TRUE(server.Push(1, b, 1).ok());
  }
  for (int step : {0, 1})
    for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(0, b, step).ok());
  Reference reference;
  for (int step : {0, 1}) reference.Step(step, {0, 1});
  EXPECT_EQ(*server.Pull(0, kW, 2), reference.w);
  EXPECT_EQ(*server.Pull(1, kB, 2), reference.b);
}

TEST(ParameterServerTest, TheVersionBeforeIsThereForTheOneThatIsLate) {
  Server server;
  server.Start();
  Reference reference;
  for (int step : {0, 1}) {
    server.PushAll(step);
    if (step == 0) reference.Step(0, {0, 1});
    ASSERT_TRUE(server.Pull(0, kB, step + 1).ok());
  }
  EXPECT_EQ(*server.Pull(1, kB, 1), reference.b);
  EXPECT_THAT(std::string(server.Pull(1, kB, 0).status().message()),
              HasSubstr("version 0 is no longer there, only 2"));
}

// What has been pulled stays as it is while updates go on.
TEST(ParameterServerTest, PulledBytesDoNotChange) {
  Server server({.trainers = 1});
  server.Start();
  std::vector<SharedBytes> held;
  std::vector<Floats> expected;
  Reference reference;
  for (int step = 0; step < 6; ++step) {
    server.PushAll(step);
    reference.Step(step, {0});
    ASSERT_TRUE(server.Pull(0, kB, step + 1).ok());
    std::promise<SharedBytes> value;
    server->Pull(0, kB, uint64_t(step) + 1,
                 [&](absl::StatusOr<SharedBytes> v) { value.set_value(*v); });
    held.push_back(value.get_future().get());
    expected.push_back(reference.b);
  }
  for (size_t i = 0; i < held.size(); ++i)
    EXPECT_EQ(0, std::memcmp(held[i].bytes.data(), expected[i].data(), held[i].bytes.size()));
}

TEST_P(SynchronousServerTest, OthersGoOnWithTheRightScale) {
  Server server({.trainers = 3, .together = GetParam()});
  server.Start();
  Reference reference;
  server.PushAll(0);
  reference.Step(0, {0, 1, 2});
  // Trainers 0 and 2 are in step 1 already when 1 says that it has no batch.
  for (int t : {0, 2})
    for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(t, b, 1).ok());
  ASSERT_TRUE(server->Finish(1, 1).ok());
  reference.Step(1, {0, 2});
  EXPECT_EQ(*server.Pull(0, kW, 2), reference.w);
  // And trainer 2 before it has pushed.
  ASSERT_TRUE(server->Finish(2, 2).ok());
  for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(0, b, 2).ok());
  reference.Step(2, {0});
  EXPECT_EQ(*server.Pull(0, kW, 3), reference.w);
  EXPECT_EQ(*server.Pull(0, kB, 3), reference.b);
  EXPECT_THAT(std::string(server.Push(1, kB, 1).message()),
              HasSubstr("push of trainer 1 in step 1: the trainer has finished"));
  EXPECT_FALSE(server->Finish(0, 7).ok());
  ASSERT_TRUE(server->Finish(0, 3).ok());
  EXPECT_TRUE(server->Finish(0, 3).ok());
  EXPECT_TRUE(server->Wait().ok());
}

TEST(ParameterServerTest, BlocksTogetherWaitForEachOther) {
  Server server({.together = true});
  server.Start();
  std::promise<Floats> pulled;
  server->Pull(0, kB, 1, [&](absl::StatusOr<SharedBytes> v) {
    ASSERT_TRUE(v.ok()) << v.status();
    Floats values(testing::kBias);
    std::memcpy(values.data(), v->bytes.data(), v->bytes.size());
    pulled.set_value(values);
  });
  for (int t : {0, 1}) ASSERT_TRUE(server.Push(t, kB, 0).ok());
  ASSERT_TRUE(server.Push(0, kW, 0).ok());
  // Waits for what can run: nothing can.
  EXPECT_EQ(server->SetWhole("w", BytesOf(Floats(testing::kWeights))).code(),
            absl::StatusCode::kFailedPrecondition);
  std::future<Floats> future = pulled.get_future();
  EXPECT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  ASSERT_TRUE(server.Push(1, kW, 0).ok());
  Reference reference;
  reference.Step(0, {0, 1});
  EXPECT_EQ(future.get(), reference.b);
  EXPECT_EQ(*server.Pull(1, kW, 1), reference.w);
}

// One of the blocks is complete, and the other not.
TEST(ParameterServerTest, BlocksTogetherAreRestoredInTheMiddle) {
  testing::TemporaryFolder folder;
  Reference reference;
  for (int step = 0; step < 2; ++step) reference.Step(step, {0, 1});
  {
    Server server({.together = true});
    server.Start();
    server.PushAll(0);
    for (int t : {0, 1}) ASSERT_TRUE(server.Push(t, kB, 1).ok());
    ASSERT_TRUE(server.Push(0, kW, 1).ok());
    absl::Status saved = server->Save(folder / "s");
    ASSERT_TRUE(saved.ok()) << saved;
  }
  Server server({.together = true});
  ASSERT_TRUE(server->Restore(folder / "s").ok());
  EXPECT_THAT(server->taken(0).next, ::testing::ElementsAre(2, 2));
  EXPECT_THAT(server->taken(1).next, ::testing::ElementsAre(1, 2));
  server.Join();
  for (int repeat = 0; repeat < 2; ++repeat) server.PushAll(1);
  EXPECT_EQ(*server.Pull(0, kW, 2), reference.w);
  EXPECT_EQ(*server.Pull(1, kB, 2), reference.b);
  for (int t : {0, 1}) ASSERT_TRUE(server->Finish(t, 2).ok());
  EXPECT_TRUE(server->Wait().ok());
}

TEST(ParameterServerTest, MissingPushOfBlocksTogetherIsNamed) {
  Server server({.together = true}, absl::Milliseconds(300));
  server.Start();
  for (int t : {0, 1}) ASSERT_TRUE(server.Push(t, kB, 0).ok());
  ASSERT_TRUE(server.Push(0, kW, 0).ok());
  EXPECT_THAT(std::string(server.Pull(0, kB, 1).status().message()),
              AllOf(HasSubstr("block \"w.block1\""), HasSubstr("trainer 1")));
}

// Updates wait for the schedule, which waits for those of the step before; not
// for what is only handed back.
TEST(ParameterServerTest, LossHoldsUpNoUpdate) {
  Server server({.shared_loss = true});
  server.Start();
  Reference reference;
  for (int step = 0; step < 3; ++step) {
    server.PushAll(step);
    reference.Step(step, {0, 1});
    EXPECT_EQ(*server.Pull(0, kW, step + 1), reference.w);
  }
  for (int step = 0; step < 3; ++step) {
    for (int t : {0, 1}) ASSERT_TRUE(server.Push(t, 2, step, {float(step + t)}).ok());
    EXPECT_EQ(*server.Pull(1, 2, step + 1), Floats{float(step) + 0.5f});
  }
  for (int t : {0, 1}) ASSERT_TRUE(server->Finish(t, 3).ok());
  EXPECT_TRUE(server->Wait().ok());
}

// What is only combined: the mean over those who took part, although gradients
// are summed, and after a restart too.
TEST(ParameterServerTest, LossIsHandedBackAsTheMean) {
  testing::TemporaryFolder folder;
  const ServerPlanOptions plan = {.trainers = 3, .mean = false, .shared_loss = true};
  constexpr uint32_t kLoss = 2;
  {
    Server server(plan);
    server.Start();
    for (int t = 0; t < 3; ++t) {
      for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(t, b, 0).ok());
      ASSERT_TRUE(server.Push(t, kLoss, 0, {float(t) + 1.5f}).ok());
    }
    EXPECT_EQ(*server.Pull(0, kLoss, 1), Floats{2.5f});
    ASSERT_TRUE(server->Finish(1, 1).ok());
    ASSERT_TRUE(server.Push(0, kLoss, 1, {4.0f}).ok());
    ASSERT_TRUE(server->Save(folder / "s").ok());
  }
  Server server(plan);
  ASSERT_TRUE(server->Restore(folder / "s").ok());
  server.Join();
  // A trainer that has not got it asks again.
  EXPECT_EQ(*server.Pull(2, kLoss, 1), Floats{2.5f});
  for (int t : {0, 2})
    for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(t, b, 1).ok());
  ASSERT_TRUE(server.Push(2, kLoss, 1, {7.0f}).ok());
  EXPECT_EQ(*server.Pull(0, kLoss, 2), Floats{5.5f});
}

TEST(ParameterServerTest, AsynchronousUpdatesRunAsTheyCome) {
  Server server({.trainers = 2, .mode = plan::ParameterServers::ASYNC});
  server.Start();
  Reference reference;
  // Trainer 1 is three steps ahead; the schedule runs before the updates 0, 2
  // and 4 of block 0.
  const std::vector<std::pair<int, int>> order = {{1, 0}, {1, 1}, {1, 2}, {0, 0}, {0, 1}};
  float rate = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    auto [t, step] = order[i];
    ASSERT_TRUE(server.Push(t, kW, step).ok());
    ASSERT_TRUE(server.Push(t, kB, step).ok());
    if (i % 2 == 0) rate = reference.Rate();
    reference.UpdateW(Gradient(t, step, kRest), rate);
    reference.UpdateB(Gradient(t, step, testing::kBias));
    EXPECT_EQ(*server.Pull(t, kW, step + 1), reference.w);
    EXPECT_EQ(*server.Pull(t, kB, step + 1), reference.b);
    ASSERT_TRUE(server.Push(t, kW, step).ok());  // again: dropped
  }
  EXPECT_EQ(*server.Pull(0, kW, 1), reference.w);  // the newest
  ASSERT_TRUE(server->Finish(0, 2).ok());
  ASSERT_TRUE(server->Finish(1, 3).ok());
  EXPECT_TRUE(server->Wait().ok());
}

TEST(ParameterServerTest, MissingTrainersAreNamedWithinTheDeadline) {
  Server server({.trainers = 3}, absl::Milliseconds(200));
  server.Start();
  server.PushAll(0);
  ASSERT_TRUE(server.Pull(0, kB, 1).ok());
  ASSERT_TRUE(server.Push(0, kB, 1).ok());
  absl::Status status = server.Pull(0, kB, 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(std::string(status.message()),
            "server 1: no progress within 200ms: block \"b\" in step 1 still waits for the "
            "push of trainers 1, 2");
  EXPECT_EQ(server.failures(), 1);
  EXPECT_EQ(server.Push(0, kW, 1).message(), status.message());
  EXPECT_EQ(server->Wait().message(), status.message());
  EXPECT_EQ(server->Join(0).status().message(), status.message());
}

TEST(ParameterServerTest, TrainerThatNeverJoinedIsNamed) {
  Server server({.trainers = 2}, absl::Milliseconds(100));
  ASSERT_TRUE(server->Join(0).ok());
  ASSERT_TRUE(server.Push(0, kW, 0).ok());
  EXPECT_THAT(std::string(server.Pull(0, kW, 1).status().message()),
              HasSubstr("trainer 1 (which never joined)"));
}

TEST(ParameterServerTest, IdleServerOutlivesTheDeadline) {
  Server server({}, absl::Milliseconds(50));
  server.Start();
  server.PushAll(0);
  ASSERT_TRUE(server.Pull(0, kB, 1).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  server.PushAll(1);
  EXPECT_TRUE(server.Pull(1, kW, 2).ok());
}

TEST(ParameterServerTest, LostTrainerEndsItForAllWithItsName) {
  Server server;
  server.Start();
  ASSERT_TRUE(server.Push(0, kB, 0).ok());
  std::promise<absl::Status> waiting;
  server->Pull(0, kB, 1,
               [&](absl::StatusOr<SharedBytes> v) {
                 waiting.set_value(runtime::Unshared(v.status()));
               });
  server->Lost(1, absl::UnavailableError("connection reset"));
  EXPECT_EQ(std::string(waiting.get_future().get().message()),
            "trainer 1 is lost: connection reset");
  EXPECT_FALSE(server.Push(0, kB, 1).ok());
  EXPECT_FALSE(server->Finish(0, 1).ok());
  EXPECT_EQ(server.failures(), 1);
}

TEST(ParameterServerTest, TrainerThatHasFinishedMayGo) {
  Server server;
  server.Start();
  server.PushAll(0);
  ASSERT_TRUE(server->Finish(1, 1).ok());
  server->Lost(1, absl::UnavailableError("connection reset"));
  EXPECT_TRUE(server.Push(0, kB, 1).ok());
}

TEST(ParameterServerTest, RefusesWhatDoesNotFit) {
  Server server;
  EXPECT_THAT(std::string(server.Push(0, kB, 0).message()), HasSubstr("has not joined"));
  EXPECT_THAT(std::string(server->Join(2).status().message()),
              HasSubstr("trainer must be in 0..1, got: 2"));
  server.Start();
  EXPECT_THAT(std::string(server.Push(0, kB, 0, Floats(6)).message()),
              AllOf(HasSubstr("block \"b\""), HasSubstr("must have 28 bytes, got: 24")));
  EXPECT_THAT(std::string(server.Push(0, kB, 1).message()),
              HasSubstr("the next step must be 0"));
  EXPECT_THAT(std::string(server.Push(0, 2, 0).message()), HasSubstr("there is no block 2"));
  EXPECT_THAT(std::string(server.Pull(0, 9, 0).status().message()),
              HasSubstr("there is no block 9"));
  absl::Status status;
  for (int step = 0; status.ok() && step < 100; ++step) status = server.Push(0, kB, step);
  EXPECT_THAT(std::string(status.message()), HasSubstr("steps ahead"));
  EXPECT_THAT(std::string(server->SetWhole("w", BytesOf(Floats(3))).message()),
              HasSubstr("must match f32[5,4]"));
  EXPECT_THAT(std::string(server->SetWhole("v", BytesOf(Floats(3))).message()),
              HasSubstr("no parameter or state \"v\""));
  // In the middle of a step.
  EXPECT_EQ(server->SetWhole("w", BytesOf(Floats(testing::kWeights))).code(),
            absl::StatusCode::kFailedPrecondition);
}

// Saved in the middle of a step, with a push that has not been applied, one of a
// later step and a block that is behind.
TEST_P(SynchronousServerTest, RestoredServerGoesOnBitwiseTheSame) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "server";
  Reference reference;
  for (int step = 0; step < 8; ++step) reference.Step(step, {0, 1});
  {
    Server server({.together = GetParam()});
    server.Start();
    for (int step = 0; step < 3; ++step) server.PushAll(step);
    ASSERT_TRUE(server.Push(0, kB, 3).ok());
    ASSERT_TRUE(server.Push(1, kW, 3).ok());
    ASSERT_TRUE(server.Push(1, kW, 4).ok());
    ASSERT_TRUE(server->Save(path).ok());
    // What happens afterwards is lost.
    ASSERT_TRUE(server.Push(1, kB, 3).ok());
  }
  Server server({.together = GetParam()});
  absl::Status restored = server->Restore(path);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_THAT(server->taken(0).next, ::testing::ElementsAre(3, 4));
  EXPECT_THAT(server->taken(1).next, ::testing::ElementsAre(5, 3));
  EXPECT_EQ(*server->Join(0), 3u);
  EXPECT_EQ(*server->Join(1), 3u);
  EXPECT_FALSE(server->Restore(path).ok());
  // Trainers repeat what they are not sure of.
  for (int step = 2; step < 8; ++step) server.PushAll(step);
  EXPECT_EQ(*server.Pull(0, kW, 8), reference.w);
  EXPECT_EQ(*server.Pull(1, kB, 8), reference.b);
  for (int t : {0, 1}) ASSERT_TRUE(server->Finish(t, 8).ok());
  EXPECT_TRUE(server->Wait().ok());
}

TEST(ParameterServerTest, RestoredAsynchronousServerAppliesOnce) {
  testing::TemporaryFolder folder;
  const ServerPlanOptions plan = {.trainers = 2, .mode = plan::ParameterServers::ASYNC};
  Floats expected(testing::kBias, 2.0f);
  for (auto [t, step] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) {
    Floats g = Gradient(t, step, testing::kBias);
    for (size_t i = 0; i < g.size(); ++i) expected[i] = expected[i] - g[i] * 0.25f;
  }
  {
    Server server(plan);
    server.Start();
    for (auto [t, step] : {std::pair{0, 0}, {1, 0}, {1, 1}})
      ASSERT_TRUE(server.Push(t, kB, step).ok());
    ASSERT_TRUE(server->Save(folder / "s").ok());
  }
  Server server(plan);
  ASSERT_TRUE(server->Restore(folder / "s").ok());
  server.Join();
  for (auto [t, step] : {std::pair{1, 0}, {1, 1}, {0, 0}, {0, 1}})
    ASSERT_TRUE(server.Push(t, kB, step).ok());
  EXPECT_EQ(*server.Pull(0, kB, 2), expected);
}

// While trainers work, from another thread: what is saved is a step of the job.
TEST_P(SynchronousServerTest, SavesAtACommonStepWhileTrainersWork) {
  testing::TemporaryFolder folder;
  constexpr int kSteps = 60;
  Server server({.together = GetParam()});
  server.Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; ++step) {
        for (uint32_t b : {kB, kW}) ASSERT_TRUE(server.Push(t, b, step).ok());
        for (uint32_t b : {kB, kW}) ASSERT_TRUE(server.Pull(t, b, step + 1).ok());
      }
    });
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    paths.push_back(folder / std::to_string(i));
    absl::Status saved = server->Save(paths.back());
    ASSERT_TRUE(saved.ok()) << saved;
  }
  for (std::thread &thread : threads) thread.join();
  Reference end;
  for (int step = 0; step < kSteps; ++step) end.Step(step, {0, 1});
  for (const std::string &path : paths) {
    Server again({.together = GetParam()});
    ASSERT_TRUE(again->Restore(path).ok());
    int done = int(*again->Join(0));
    ASSERT_TRUE(again->Join(1).ok());
    for (int step = done; step < kSteps; ++step) {
      again.PushAll(step);
      ASSERT_TRUE(again.Pull(0, kB, step + 1).ok());
    }
    EXPECT_EQ(*again.Pull(0, kW, kSteps), end.w);
    EXPECT_EQ(*again.Pull(0, kB, kSteps), end.b);
  }
}

TEST(ParameterServerTest, DamagedCheckpointsAreRefused) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "server";
  {
    Server server;
    server.Start();
    server.PushAll(0);
    ASSERT_TRUE(server.Push(0, kW, 1).ok());
    ASSERT_TRUE(server->Save(path).ok());
    EXPECT_FALSE(server->Save(folder / "no/such/folder").ok());
  }
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  auto restore = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    Server server;
    return std::string(server->Restore(path).message());
  };
  EXPECT_EQ(restore(whole), "");
  for (size_t n = 0; n < whole.size(); n += 97) EXPECT_NE(restore(whole.substr(0, n)), "") << n;
  for (size_t i = 8; i < whole.size(); i += 41) {
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ 1);
    if (whole[i] == ' ') continue;  // padding of the header
    EXPECT_NE(restore(damaged), "") << i;
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << whole;
  Server other({.trainers = 2, .mean = false});
  EXPECT_THAT(std::string(other->Restore(path).message()), HasSubstr("of another plan"));
  Server zero({}, absl::Seconds(30), 0);
  EXPECT_THAT(std::string(zero->Restore(path).message()), HasSubstr("is of server 1"));
  Server none;
  EXPECT_THAT(std::string(none->Restore(folder / "none").message()),
              HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace commsched
