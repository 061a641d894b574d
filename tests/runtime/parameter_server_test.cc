// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server by itself: what becomes of pushes and pulls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "runtime/transport/parameter_client.h"
#include "tests/runtime/single_server.h"

namespace commsched {
namespace {

using namespace testing::single_server;
using ::testing::HasSubstr;

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

// Nothing else happens then that would wake the server's thread, and it looks by itself when the
// deadline is near.
TEST(ParameterServerTest, TheLastFinishAnswersPullsOfFinalValues) {
  for (const auto mode : {plan::ParameterServers::SYNC, plan::ParameterServers::ASYNC}) {
    Server server({.trainers = 2, .mode = mode}, absl::Hours(24));
    server.Start();
    server.PushAll(0);
    for (uint32_t b : {kW, kB}) EXPECT_TRUE(server.Pull(0, b, 1).ok());
    ASSERT_TRUE(server->Finish(0, 1).ok());
    std::promise<absl::Status> answered;
    server->Pull(0, kW, runtime::ParameterClient::kFinal,
                 [&](absl::StatusOr<SharedBytes> value) { answered.set_value(runtime::Unshared(value.status())); });
    auto answer = answered.get_future();
    // The thread has gone to sleep again.
    EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    ASSERT_TRUE(server->Finish(1, 1).ok());
    EXPECT_TRUE(answer.get().ok());
  }
}

}  // namespace
}  // namespace commsched
