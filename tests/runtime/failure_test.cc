// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peers that do not come, stop, or give up: every rank ends with one error
// that names the message and the peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/base/stall_clock.h"
#include "runtime/transport/in_process_transport.h"
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
                  HasSubstr("plan digest must match"));
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

// What a rank that waits does while its process is stopped for longer than the
// deadline, in a process of its own: exits with 0 if the step gets through.
void StepThroughAPause() {
  auto session = testing::Open(testing::Trainer(2), {absl::Seconds(1)});
  testing::StartTrainer(session.get(), 1);
  bool ok = session->executor(0).Enqueue(0, Rows()).ok();
  const auto begin = runtime::Clock::now();
  ok = ok && std::system(absl::StrCat("(sleep 2; kill -CONT ", getpid(), ") &").c_str()) == 0;
  raise(SIGSTOP);
  // Rank 0 has all the time it wants to find that the clock has jumped.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ok = ok && runtime::Clock::now() - begin > std::chrono::milliseconds(1500);
  ok = ok && session->executor(1).Enqueue(0, Rows()).ok();
  const absl::Status status = session->Drain();
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::_Exit(ok && status.ok() ? 0 : 1);
}

TEST(FailureDeathTest, PauseOfTheProcessIsNoStall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(StepThroughAPause(), ::testing::ExitedWithCode(0), "OK");
}

TEST(StallClockTest, CountsTimeInWhichOneLooked) {
  using std::chrono::milliseconds;
  const runtime::Clock::time_point zero;
  runtime::StallClock clock(milliseconds(160), zero);  // a look each 10 ms
  EXPECT_EQ(clock.NextLook(milliseconds(160)), zero + milliseconds(10));
  EXPECT_EQ(clock.Idle(zero + milliseconds(10)), milliseconds(10));
  EXPECT_EQ(clock.Idle(zero + milliseconds(25)), milliseconds(25));
  // Of a long pause only a part.
  EXPECT_EQ(clock.Idle(zero + milliseconds(100025)), milliseconds(45));
  EXPECT_EQ(clock.NextLook(milliseconds(160)), zero + milliseconds(100035));
  EXPECT_EQ(clock.NextLook(milliseconds(50)), zero + milliseconds(100030));
  clock.Progress(zero + milliseconds(100030));
  EXPECT_EQ(clock.Idle(zero + milliseconds(100031)), milliseconds(1));
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
              AllOf(HasSubstr("rank 0:"), HasSubstr("peer 1: has finished")));
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
