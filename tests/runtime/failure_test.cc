// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peers that do not come, stop, or give up: every rank ends with one error
// that names the message and the peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/in_process_transport.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using runtime::BatchRows;
using runtime::ConnectInProcess;
using runtime::PlanImage;
using runtime::Session;
using runtime::TransportOptions;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

BatchRows Rows() {
  static const std::vector<float> values(testing::kTrainerSize, 1.0f);
  BatchRows rows;
  rows.data.push_back(reinterpret_cast<const std::byte *>(values.data()));
  return rows;
}

TEST(FailureTest, MissingPeerIsNamedWithinTheDeadline) {
  auto image = PlanImage::Load(testing::Trainer(3).Bytes());
  ASSERT_TRUE(image.ok());
  auto hub = runtime::MakeInProcessHub(3);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      auto session = Session::OneRank(
          *image, r,
          [&](TransportOptions o) { return ConnectInProcess(hub, std::move(o)); },
          {absl::Milliseconds(200)});
      EXPECT_FALSE(session.ok());
      errors[size_t(r)] = std::string(session.status().message());
    });
  for (auto &t : threads) t.join();
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 0:"), HasSubstr("to rank 2")));
  EXPECT_THAT(errors[1], AllOf(HasSubstr("rank 1:"), HasSubstr("to rank 2")));
}

TEST(FailureTest, PeerWithAnotherPlanIsRefused) {
  auto image = PlanImage::Load(testing::Trainer(2, true).Bytes());
  auto other = PlanImage::Load(testing::Trainer(2, false).Bytes());
  ASSERT_TRUE(image.ok() && other.ok());
  auto hub = runtime::MakeInProcessHub(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      auto session = Session::OneRank(
          r == 0 ? *image : *other, r,
          [&](TransportOptions o) { return ConnectInProcess(hub, std::move(o)); }, {});
      EXPECT_THAT(std::string(session.status().message()),
                  HasSubstr("runs another plan: digest must match"));
    });
  for (auto &t : threads) t.join();
}

TEST(FailureTest, StepWithoutProgressNamesTheMessageAndThePeer) {
  auto session = testing::Open(testing::Trainer(3), {absl::Milliseconds(300)});
  ASSERT_NE(session, nullptr);
  testing::StartTrainer(session.get(), 1);
  // Rank 2 never takes part in the step.
  for (size_t r : {0, 1}) ASSERT_TRUE(session->executor(r).Enqueue(0, Rows()).ok());
  absl::Status status = session->Drain();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("no progress within 300ms"), HasSubstr("all_reduce \"w\""),
                    HasSubstr("(test.mlir:1:1)"), HasSubstr("call 0"),
                    AnyOf(HasSubstr("from peer 2"), HasSubstr("peer 2 has not taken"),
                          HasSubstr("from peer"))));
  for (size_t r = 0; r < 3; ++r) {
    // The rank that did nothing is told as well.
    while (session->executor(r).status().ok()) std::this_thread::yield();
    EXPECT_FALSE(session->executor(r).Enqueue(0, Rows()).ok());
    EXPECT_FALSE(session->executor(r).Metrics(0).ok());
  }
}

TEST(FailureTest, RankThatGivesUpEndsTheOthersWithItsReason) {
  auto session = testing::Open(testing::Trainer(4));
  ASSERT_NE(session, nullptr);
  testing::StartTrainer(session.get(), 1);
  for (size_t r : {0, 1, 3}) ASSERT_TRUE(session->executor(r).Enqueue(0, Rows()).ok());
  session->executor(2).Cancel(absl::ResourceExhaustedError("out of patience"));
  absl::Status status = session->Drain();
  EXPECT_EQ(std::string(status.message()), "rank 2: out of patience");
  for (size_t r : {0, 1, 3}) {
    absl::Status own = session->executor(r).Drain();
    EXPECT_EQ(own.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(own.message()),
                AllOf(HasSubstr("peer "), HasSubstr("out of patience")));
  }
}

// Without a step under way nobody waits for anybody.
TEST(FailureTest, IdleRanksOutliveTheDeadline) {
  auto session = testing::Open(testing::Trainer(2), {absl::Milliseconds(50)});
  ASSERT_NE(session, nullptr);
  testing::StartTrainer(session.get(), 1);
  testing::RunTrainer(session.get(), 0, 3);
  ASSERT_TRUE(session->Drain().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  testing::RunTrainer(session.get(), 3, 3);
  EXPECT_TRUE(session->Drain().ok());
}

// A rank that goes away without a word in the middle of a run.
TEST(FailureTest, RankThatLeavesIsNamed) {
  auto image = PlanImage::Load(testing::Trainer(2).Bytes());
  ASSERT_TRUE(image.ok());
  auto hub = runtime::MakeInProcessHub(2);
  auto open = [&](int r) {
    return Session::OneRank(
        *image, r,
        [&](TransportOptions o) { return ConnectInProcess(hub, std::move(o)); }, {});
  };
  absl::StatusOr<std::unique_ptr<Session>> one;
  std::thread thread([&] { one = open(1); });
  auto zero = open(0);
  thread.join();
  ASSERT_TRUE(zero.ok() && one.ok());
  ASSERT_TRUE((*zero)->executor(0).Enqueue(0, Rows()).ok());
  one->reset();
  EXPECT_THAT(std::string((*zero)->Drain().message()),
              AllOf(HasSubstr("rank 0:"), HasSubstr("peer 1 has closed")));
}

TEST(FailureTest, DestructionInTheMiddleOfAStepDoesNotHang) {
  for (int run = 0; run < 20; ++run) {
    auto session = testing::Open(testing::Trainer(4));
    ASSERT_NE(session, nullptr);
    testing::StartTrainer(session.get(), 1);
    testing::RunTrainer(session.get(), 0, run % 5);
  }
}

}  // namespace
}  // namespace commsched
