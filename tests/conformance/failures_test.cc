// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends and failures: closing, aborting, wrong sizes, peers that do not fit or
// do not come.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

using Bytes = std::vector<std::byte>;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_P(ConformanceTest, CloseInGoodOrderIsNoFailure) {
  Start(3);
  ASSERT_EQ(ranks_.size(), 3u);
  std::byte token{1};
  Result sent = Send(0, 1, {}, {&token, 1});
  EXPECT_TRUE(Recv(1, 0, {}, {&token, 1}).Wait().ok());
  EXPECT_TRUE(sent.Wait().ok());
  ranks_[0]->Close();
  ranks_[0]->Close();  // does nothing
  // The others go on.
  sent = Send(1, 2, {}, {&token, 1});
  EXPECT_TRUE(Recv(2, 1, {}, {&token, 1}).Wait().ok());
  EXPECT_TRUE(sent.Wait().ok());
  ranks_.clear();
  for (const auto &failures : failures_) EXPECT_TRUE(failures->Now().empty());
}

TEST_P(ConformanceTest, CloseWaitsForSends) {
  Start(2);
  const Bytes message = Pattern(size_t{64} << 20, 1);
  Bytes buffer(message.size());
  Result received = Recv(1, 0, {}, absl::MakeSpan(buffer));
  Result sent = Send(0, 1, {}, message);
  ranks_[0]->Close(absl::Seconds(60));
  EXPECT_TRUE(sent.ready()) << "a callback is left after Close";
  EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
  EXPECT_TRUE(received.Wait().ok()) << received.Wait();
  EXPECT_TRUE(buffer == message);
}

TEST_P(ConformanceTest, CloseCancelsWhatIsPending) {
  Start(2);
  Bytes buffer(1000), message(size_t{8} << 20);
  Result received = Recv(0, 1, {}, absl::MakeSpan(buffer));
  Result sent = Send(0, 1, {}, message);  // the receive never comes
  ranks_[0]->Close(absl::ZeroDuration());
  ASSERT_TRUE(received.ready()) << "a callback is left after Close";
  ASSERT_TRUE(sent.ready()) << "a callback is left after Close";
  EXPECT_EQ(received.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(sent.Wait().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(failures_[0]->Now().empty());
}

TEST_P(ConformanceTest, PeerHasFinishedButIsWanted) {
  Start(2);
  Bytes buffer(1000);
  Result received = Recv(1, 0, {.step = 1}, absl::MakeSpan(buffer));
  ranks_[0]->Close();
  EXPECT_EQ(received.Wait().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(received.Wait().message()), HasSubstr("peer 0"));
  // Later operations fail too, and it is reported once.
  EXPECT_EQ(Recv(1, 0, {.step = 2}, absl::MakeSpan(buffer)).Wait().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Send(1, 0, {.step = 2}, buffer).Wait().code(),
            absl::StatusCode::kFailedPrecondition);
  auto failures = failures_[1]->WaitForOne();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].first, 0);
  EXPECT_TRUE(failures_[0]->Now().empty());
}

TEST_P(ConformanceTest, AbortIsPassedOn) {
  Start(3);
  ASSERT_EQ(ranks_.size(), 3u);
  Bytes buffer(1000), message(size_t{8} << 20);
  Result of_1 = Recv(1, 0, {}, absl::MakeSpan(buffer));
  Result of_2 = Send(2, 0, {}, message);
  Result own = Recv(0, 1, {}, absl::MakeSpan(buffer));
  ranks_[0]->Abort(absl::InternalError("\"w\" has failed: 100 %"));
  EXPECT_EQ(own.Wait().code(), absl::StatusCode::kCancelled);
  for (const Result &result : {of_1, of_2}) {
    EXPECT_EQ(result.Wait().code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(result.Wait().message()),
                AllOf(HasSubstr("peer 0"), HasSubstr("\"w\" has failed: 100 %")));
  }
  for (int rank : {1, 2}) {
    auto failures = failures_[rank]->WaitForOne();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].first, 0);
    EXPECT_EQ(failures[0].second.code(), absl::StatusCode::kAborted);
  }
  // Between the others nothing has changed.
  Result sent = Send(1, 2, {.step = 5}, absl::MakeConstSpan(buffer));
  Bytes other(buffer.size());
  EXPECT_TRUE(Recv(2, 1, {.step = 5}, absl::MakeSpan(other)).Wait().ok());
  EXPECT_TRUE(sent.Wait().ok());
  ranks_[0]->Close();
  EXPECT_TRUE(failures_[0]->Now().empty());
  // Who wants something of it later hears the same.
  for (int rank : {1, 2}) {
    const absl::Status late = Recv(rank, 0, {.step = 9}, absl::MakeSpan(buffer)).Wait();
    EXPECT_EQ(late.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(late.message()), HasSubstr("\"w\" has failed: 100 %"));
  }
}

TEST_P(ConformanceTest, SizesMustAgree) {
  for (size_t size : {size_t{0}, size_t{100}, size_t{3} << 20})
    for (size_t other : {size_t{8}, size_t{101}, size_t{2} << 20})
      for (bool receive_first : {false, true}) {
        ranks_.clear();
        failures_.clear();
        Start(2);
        ASSERT_EQ(ranks_.size(), 2u);
        const Bytes message(size);
        Bytes buffer(other);
        Result received, sent;
        if (receive_first) received = Recv(1, 0, {}, absl::MakeSpan(buffer));
        sent = Send(0, 1, {}, message);
        if (!receive_first) received = Recv(1, 0, {}, absl::MakeSpan(buffer));
        EXPECT_THAT(received.Wait().code(),
                    AnyOf(absl::StatusCode::kInvalidArgument,
                          absl::StatusCode::kDataLoss))
            << received.Wait();
        EXPECT_THAT(std::string(received.Wait().message()),
                    AllOf(HasSubstr("peer 0"), HasSubstr(std::to_string(size)),
                          HasSubstr(std::to_string(other))));
        // The sender may have been done with it before.
        EXPECT_THAT(sent.Wait().code(),
                    AnyOf(absl::StatusCode::kOk,
                          absl::StatusCode::kInvalidArgument,
                          absl::StatusCode::kDataLoss))
            << sent.Wait();
      }
}

std::vector<TransportOptions> Options(int nodes) {
  std::vector<TransportOptions> options(nodes);
  for (int rank = 0; rank < nodes; ++rank) {
    options[rank].rank = rank;
    options[rank].nodes = nodes;
    options[rank].plan_digest = 0x1111;
    options[rank].connect_deadline = absl::Seconds(60);
  }
  return options;
}

TEST_P(ConformanceTest, MissingPeerIsNamed) {
  for (int missing : {0, 1, 2}) {
    auto options = Options(3);
    options.erase(options.begin() + missing);
    for (auto &of_rank : options) of_rank.connect_deadline = absl::Seconds(1);
    auto results = ConnectAll(GetParam().new_cluster(3), options);
    for (const auto &result : results) {
      ASSERT_FALSE(result.ok());
      EXPECT_THAT(std::string(result.status().message()),
                  HasSubstr(std::to_string(missing)));
    }
    // One rank may hear of it from the other.
    EXPECT_TRUE(std::any_of(results.begin(), results.end(), [](auto &result) {
      return result.status().code() == absl::StatusCode::kDeadlineExceeded;
    })) << results[0].status()
        << results[1].status();
  }
}

TEST_P(ConformanceTest, AnotherPlanIsRefused) {
  for (int odd : {0, 1}) {
    auto options = Options(2);
    options[odd].plan_digest = 0x2222;
    for (const auto &result :
         ConnectAll(GetParam().new_cluster(2), options)) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition)
          << result.status();
      EXPECT_THAT(std::string(result.status().message()),
                  AllOf(HasSubstr("peer "), HasSubstr("digest"),
                        HasSubstr("1111"), HasSubstr("2222")));
    }
  }
}

TEST_P(ConformanceTest, AnotherClusterSizeIsRefused) {
  if (GetParam().one_size) GTEST_SKIP() << "cannot happen";
  auto options = Options(3);
  options.pop_back();
  options[0].nodes = 2;
  auto results = ConnectAll(GetParam().new_cluster(3), options);
  for (const auto &result : results) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition)
        << result.status();
    EXPECT_THAT(std::string(result.status().message()),
                AllOf(HasSubstr("nodes"), HasSubstr("2"), HasSubstr("3")));
  }
}

TEST_P(ConformanceTest, OptionsAreChecked) {
  auto connect = GetParam().new_cluster(2);
  for (auto [rank, nodes] : {std::pair(2, 2), {-1, 2}, {0, 0}, {0, -1}}) {
    TransportOptions options;
    options.rank = rank;
    options.nodes = nodes;
    auto result = connect(options);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument)
        << rank << " of " << nodes << ": " << result.status();
  }
}

}  // namespace
}  // namespace commsched::conformance
