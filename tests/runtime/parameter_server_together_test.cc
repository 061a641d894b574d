// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server by itself: blocks that are updated together, and values
// that are only combined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "tests/runtime/single_server.h"

namespace commsched {
namespace {

using namespace testing::single_server;
using ::testing::AllOf;
using testing::BytesOf;
using ::testing::HasSubstr;
using testing::ServerPlanOptions;

TEST(BlocksTogetherTest, BlocksTogetherWaitForEachOther) {
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
TEST(BlocksTogetherTest, BlocksTogetherAreRestoredInTheMiddle) {
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

TEST(BlocksTogetherTest, MissingPushOfBlocksTogetherIsNamed) {
  Server server({.together = true}, absl::Milliseconds(300));
  server.Start();
  for (int t : {0, 1}) ASSERT_TRUE(server.Push(t, kB, 0).ok());
  ASSERT_TRUE(server.Push(0, kW, 0).ok());
  EXPECT_THAT(std::string(server.Pull(0, kB, 1).status().message()),
              AllOf(HasSubstr("block \"w.block1\""), HasSubstr("trainer 1")));
}

// Updates wait for the schedule, which waits for those of the step before; not
// for what is only handed back.
TEST(BlocksTogetherTest, LossHoldsUpNoUpdate) {
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
TEST(BlocksTogetherTest, LossIsHandedBackAsTheMean) {
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

}  // namespace
}  // namespace commsched
