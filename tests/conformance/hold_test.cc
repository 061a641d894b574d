// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is held back: it lets others pass, and is there in the end. A transport may hold back nothing.
#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "plan/urgency.h"
#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

using Bytes = std::vector<std::byte>;
using plan::Urgency;
using ::testing::AnyOf;

struct Message {
  int32_t priority;
  MessageTag tag;
  Bytes bytes, buffer = Bytes(bytes.size());
  Result sent = {}, received = {};
};

Message Make(int32_t priority, uint64_t step, uint32_t key, size_t size) {
  return {priority, {.step = step, .key = key}, Pattern(size, 10 * step + key)};
}

TEST_P(ConformanceTest, WhatIsHeldBackLetsOthersPass) {
  constexpr size_t kLong = size_t{4} << 20;
  for (const bool receive_first : {true, false}) {
    SCOPED_TRACE(receive_first);
    ranks_.clear();
    failures_.clear();
    Start(3);
    ASSERT_EQ(ranks_.size(), 3u);
    std::vector<Message> less, urgent;
    for (const size_t size : {kLong, size_t{100}, size_t{0}}) {
      const uint32_t key = uint32_t(less.size());
      less.push_back(Make(6, 3, key, size));       // of an earlier call
      less.push_back(Make(5, 11, key + 1, size));  // of a later one
      urgent.push_back(Make(5, 10, key, size));    // as urgent
      urgent.push_back(Make(5, 9, key + 1, size));
      urgent.push_back(Make(-7, 12, key + 2, size));
    }
    // To both peers.
    std::vector<Message> others = less;
    for (Message &message : others) message.sent = message.received = Result();
    const auto receive = [&](std::vector<Message> &messages, int to = 1) {
      for (Message &message : messages) message.received = Recv(to, 0, message.tag, absl::MakeSpan(message.buffer));
    };
    const auto send = [&](std::vector<Message> &messages, int to = 1) {
      for (Message &message : messages) message.sent = Send(0, to, message.tag, message.bytes, message.priority);
    };
    const auto check = [&](std::vector<Message> &messages) {
      for (Message &message : messages) {
        EXPECT_TRUE(message.received.Wait().ok()) << message.received.Wait();
        EXPECT_TRUE(message.sent.Wait().ok()) << message.sent.Wait();
        EXPECT_TRUE(message.buffer == message.bytes);
      }
    };
    if (receive_first) receive(less), receive(others, 2), receive(urgent);
    ranks_[0]->Hold(Urgency{5, 10});
    send(less);
    send(others, 2);
    send(urgent);
    if (!receive_first) receive(less), receive(others, 2), receive(urgent);
    check(urgent);
    // It is for what a rank sends: what it receives comes.
    std::vector<Message> back = {Make(9, 1, 0, kLong), Make(9, 1, 1, 100)};
    for (Message &message : back) {
      message.received = Recv(0, 1, message.tag, absl::MakeSpan(message.buffer));
      message.sent = Send(1, 0, message.tag, message.bytes, message.priority);
    }
    check(back);
    for (const auto *messages : {&less, &others})
      for (const Message &message : *messages)
        if (message.bytes.size() >= GetParam().holds_from) {
          EXPECT_FALSE(message.received.ready()) << message.priority << " " << message.tag.step;
          EXPECT_FALSE(message.sent.ready());
        }
    // Less is held back.
    ranks_[0]->Hold(Urgency{5, 11});
    for (std::vector<Message> *messages : {&less, &others})
      for (Message &message : *messages)
        if (message.priority == 5) EXPECT_TRUE(message.received.Wait().ok()) << message.received.Wait();
    ranks_[0]->Hold(std::nullopt);
    check(less);
    check(others);
    for (const auto &failures : failures_) EXPECT_TRUE(failures->Now().empty());
  }
}

// Whenever what is held back changes.
TEST_P(ConformanceTest, HoldingBackLosesNothing) {
  constexpr int kRanks = 3, kMessages = 60;
  Start(kRanks);
  ASSERT_EQ(ranks_.size(), size_t(kRanks));
  std::mt19937 random(2);
  struct Way {
    int from, to;
    Message message;
  };
  std::vector<Way> ways;
  for (int from = 0; from < kRanks; ++from)
    for (int to = 0; to < kRanks; ++to)
      for (uint32_t i = 0; from != to && i < kMessages; ++i)
        ways.push_back({from, to, Make(int32_t(random() % 5) - 2, i / 20, i, random() % (size_t{1} << (random() % 21)))});
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    // Some that hold back, and one that sends and receives.
    threads.emplace_back([&, rank] {
      std::mt19937 own(rank);
      while (!over) {
        std::optional<Urgency> least;
        if (own() % 3 != 0) least = Urgency{int64_t(own() % 5) - 2, own() % 3};
        ranks_[size_t(rank)]->Hold(least);
        std::this_thread::sleep_for(std::chrono::microseconds(own() % 500));
      }
      ranks_[size_t(rank)]->Hold(std::nullopt);
    });
    threads.emplace_back([&, rank] {
      for (Way &way : ways) {
        if (way.to == rank) way.message.received = Recv(way.to, way.from, way.message.tag, absl::MakeSpan(way.message.buffer));
        if (way.from == rank) way.message.sent = Send(way.from, way.to, way.message.tag, way.message.bytes, way.message.priority);
        if (way.to == rank || way.from == rank) std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  for (int rank = 0; rank < kRanks; ++rank) threads[size_t(2 * rank + 1)].join();
  over = true;
  for (int rank = 0; rank < kRanks; ++rank) threads[size_t(2 * rank)].join();
  for (const Way &way : ways) {
    ASSERT_TRUE(way.message.received.Wait().ok()) << way.message.received.Wait();
    ASSERT_TRUE(way.message.sent.Wait().ok()) << way.message.sent.Wait();
    EXPECT_TRUE(way.message.buffer == way.message.bytes);
  }
  for (const auto &failures : failures_) EXPECT_TRUE(failures->Now().empty());
}

// Whatever is held back, a rank ends. Close ends the hold, so that what has begun is sent if there is time; else it fails.
TEST_P(ConformanceTest, EndsWhileItHoldsSomethingBack) {
  using absl::StatusCode;
  for (const char *how : {"close", "flush", "abort", "peer"})
    for (const size_t size : {size_t{0}, size_t{100}, size_t{4} << 20}) {
      SCOPED_TRACE(::testing::Message() << how << " " << size);
      ranks_.clear();
      failures_.clear();
      Start(2);
      ASSERT_EQ(ranks_.size(), 2u);
      Message message = Make(3, 1, 0, size), urgent = Make(1, 1, 1, size);
      message.received = Recv(1, 0, message.tag, absl::MakeSpan(message.buffer));
      ranks_[0]->Hold(Urgency{2, 0});
      message.sent = Send(0, 1, message.tag, message.bytes, message.priority);
      urgent.sent = Send(0, 1, urgent.tag, urgent.bytes, urgent.priority);
      EXPECT_TRUE(Recv(1, 0, urgent.tag, absl::MakeSpan(urgent.buffer)).Wait().ok());
      EXPECT_TRUE(urgent.buffer == urgent.bytes);
      const std::string name = how;
      if (name == "abort") ranks_[0]->Abort(absl::InternalError("enough"));
      if (name == "peer") ranks_[1]->Close(absl::ZeroDuration());
      if (name == "close") ranks_[0]->Close(absl::ZeroDuration());
      if (name == "flush") ranks_[0]->Close(absl::Seconds(30));
      if (name == "close" || name == "flush") EXPECT_TRUE(message.sent.ready()) << "a callback is left after Close";
      EXPECT_THAT(message.sent.Wait().code(), AnyOf(StatusCode::kOk, StatusCode::kCancelled, StatusCode::kFailedPrecondition));
      EXPECT_THAT(message.received.Wait().code(), AnyOf(StatusCode::kOk, StatusCode::kAborted, StatusCode::kCancelled, StatusCode::kFailedPrecondition));
      if (message.received.Wait().ok()) EXPECT_TRUE(message.buffer == message.bytes);
      if (name == "flush") {
        EXPECT_TRUE(message.sent.Wait().ok()) << message.sent.Wait();
        EXPECT_TRUE(message.received.Wait().ok()) << message.received.Wait();
      }
      if (size >= GetParam().holds_from && (name == "abort" || name == "peer")) EXPECT_FALSE(message.sent.Wait().ok());
      // A rank that fails has nothing held back any more, though it has ended.
      ranks_[0]->Hold(std::nullopt);
      ranks_[0]->Hold(Urgency{2, 0});
      ranks_[0]->Close(absl::ZeroDuration());
      ranks_[0]->Hold(std::nullopt);
    }
}

}  // namespace
}  // namespace commsched::conformance
