// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are connected with some others only, and memberships of a job.
#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Ranks of a ring, or of a line.
std::vector<TransportOptions> Neighbours(int nodes, bool around,
                                         absl::Duration deadline = absl::Seconds(60)) {
  std::vector<TransportOptions> options(static_cast<size_t>(nodes));
  for (int rank = 0; rank < nodes; ++rank) {
    TransportOptions &own = options[size_t(rank)];
    own.rank = rank;
    own.nodes = nodes;
    own.connect_deadline = deadline;
    own.partners.emplace();
    for (const int other : {rank - 1, rank + 1})
      if (around || (other >= 0 && other < nodes))
        own.partners->insert((other + nodes) % nodes);
  }
  return options;
}

TEST_P(ConformanceTest, ARingHasConnectionsAroundItOnly) {
  constexpr int kNodes = 4;
  auto results = ConnectAll(GetParam().new_cluster(kNodes), Neighbours(kNodes, true));
  for (auto &result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    ranks_.push_back(*std::move(result));
  }
  const std::vector<std::byte> message = Pattern(100'000, 3);
  std::vector<std::vector<std::byte>> got(kNodes, std::vector<std::byte>(message.size()));
  std::vector<Result> done;
  for (int r = 0; r < kNodes; ++r) {
    done.push_back(Recv(r, (r + kNodes - 1) % kNodes, {.step = 1}, absl::MakeSpan(got[size_t(r)])));
    done.push_back(Send(r, (r + 1) % kNodes, {.step = 1}, message));
  }
  for (const Result &result : done) EXPECT_TRUE(result.Wait().ok()) << result.Wait();
  for (const auto &bytes : got) EXPECT_EQ(bytes, message);
  // With the others there is none.
  for (const absl::Status &status :
       {Send(0, 2, {.step = 2}, message).Wait(),
        Recv(0, 2, {.step = 2}, absl::MakeSpan(got[0])).Wait()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no connection"));
  }
}

TEST_P(ConformanceTest, WhoIsNoPartnerIsNotWaitedFor) {
  if (GetParam().one_size) GTEST_SKIP() << "all ranks are in the process";
  auto options = Neighbours(4, false);
  for (auto &own : options) own.partners = {{own.rank ^ 1}};
  options.resize(2);
  auto results = ConnectAll(GetParam().new_cluster(4), options);
  for (const auto &result : results) EXPECT_TRUE(result.ok()) << result.status();
}

// As ranks do that fail because of what they have heard.
TEST_P(ConformanceTest, AReasonReachesRanksWithoutAConnection) {
  constexpr int kNodes = 4;
  auto options = Neighbours(kNodes, false);
  for (auto &own : options) {
    failures_.push_back(std::make_unique<Failures>());
    own.on_peer_failure = failures_.back()->callback();
  }
  for (auto &result : ConnectAll(GetParam().new_cluster(kNodes), options)) {
    ASSERT_TRUE(result.ok()) << result.status();
    ranks_.push_back(*std::move(result));
  }
  ranks_[0]->Abort(absl::InternalError("no memory"));
  for (int r = 1; r < kNodes; ++r) {
    const auto failures = failures_[size_t(r)]->WaitForOne();
    ASSERT_FALSE(failures.empty());
    EXPECT_EQ(failures[0].first, r - 1);
    EXPECT_EQ(failures[0].second.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(failures[0].second.message()),
                AllOf(HasSubstr("peer 0"), HasSubstr("aborted: no memory"),
                      Not(HasSubstr(absl::StrCat("peer ", kNodes - 2)))));
    ranks_[size_t(r)]->Abort(failures[0].second);
  }
}

// Who needs little of others may be done before these have all met.
TEST_P(ConformanceTest, WhoEndsBeforeOthersHaveJoinedFailsNobody) {
  auto options = Neighbours(3, false);
  failures_.push_back(std::make_unique<Failures>());
  options[1].on_peer_failure = failures_[0]->callback();
  const Kind::Connect connect = GetParam().new_cluster(3);
  std::vector<absl::StatusOr<std::unique_ptr<Transport>>> results;
  for (int r = 0; r < 3; ++r) results.emplace_back(absl::UnknownError("not connected"));
  absl::Notification gone;
  const std::vector<std::byte> early = Pattern(100, 1), late = Pattern(100, 2);
  std::thread first([&] {
    results[0] = connect(std::move(options[0]));
    if (!results[0].ok()) return;
    Result sent;
    (*results[0])->Send(1, {.step = 1}, 0, early, sent.done());
    EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
    (*results[0])->Close(absl::Seconds(5));
    gone.Notify();
  });
  std::vector<std::byte> of_first(100), of_third(100);
  Result got_first, got_third;
  std::thread second([&] {
    results[1] = connect(std::move(options[1]));
    if (!results[1].ok()) return;
    (*results[1])->Recv(0, {.step = 1}, absl::MakeSpan(of_first), got_first.done());
    (*results[1])->Recv(2, {.step = 1}, absl::MakeSpan(of_third), got_third.done());
  });
  std::thread third([&] {
    // Some transports begin together: the first is not gone then.
    gone.WaitForNotificationWithTimeout(absl::Seconds(1));
    results[2] = connect(std::move(options[2]));
  });
  for (std::thread *thread : {&first, &second, &third}) thread->join();
  for (auto &result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    ranks_.push_back(*std::move(result));
  }
  Result sent = Send(2, 1, {.step = 1}, late);
  EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
  for (Result *got : {&got_first, &got_third}) EXPECT_TRUE(got->Wait().ok()) << got->Wait();
  EXPECT_EQ(of_first, early);
  EXPECT_EQ(of_third, late);
  EXPECT_TRUE(failures_[0]->Now().empty());
}

TEST_P(ConformanceTest, AnotherMembershipIsRefused) {
  for (int earlier : {0, 1}) {
    auto options = Neighbours(2, false, absl::Seconds(2));
    for (auto &own : options) own.epoch = own.rank == earlier ? 3 : 4;
    auto results = ConnectAll(GetParam().new_cluster(2), options);
    for (const auto &result : results) ASSERT_FALSE(result.ok());
    const absl::Status &old = results[size_t(earlier)].status();
    EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition) << old;
    EXPECT_THAT(std::string(old.message()),
                AllOf(HasSubstr("peer "), HasSubstr("membership epoch must match"),
                      HasSubstr("3"), HasSubstr("4")));
  }
}

}  // namespace
}  // namespace commsched::conformance
