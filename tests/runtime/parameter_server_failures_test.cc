// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server by itself: trainers that are missing, lost or wrong.
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

TEST(ServerFailuresTest, MissingTrainersAreNamedWithinTheDeadline) {
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

TEST(ServerFailuresTest, TrainerThatNeverJoinedIsNamed) {
  Server server({.trainers = 2}, absl::Milliseconds(100));
  ASSERT_TRUE(server->Join(0).ok());
  ASSERT_TRUE(server.Push(0, kW, 0).ok());
  EXPECT_THAT(std::string(server.Pull(0, kW, 1).status().message()),
              HasSubstr("trainer 1 (which never joined)"));
}

TEST(ServerFailuresTest, IdleServerOutlivesTheDeadline) {
  Server server({}, absl::Milliseconds(50));
  server.Start();
  server.PushAll(0);
  ASSERT_TRUE(server.Pull(0, kB, 1).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  server.PushAll(1);
  EXPECT_TRUE(server.Pull(1, kW, 2).ok());
}

TEST(ServerFailuresTest, LostTrainerEndsItForAllWithItsName) {
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

TEST(ServerFailuresTest, TrainerThatHasFinishedMayGo) {
  Server server;
  server.Start();
  server.PushAll(0);
  ASSERT_TRUE(server->Finish(1, 1).ok());
  server->Lost(1, absl::UnavailableError("connection reset"));
  EXPECT_TRUE(server.Push(0, kB, 1).ok());
}

TEST(ServerFailuresTest, RefusesWhatDoesNotFit) {
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

}  // namespace
}  // namespace commsched
