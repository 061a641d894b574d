// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages that arrive: matching, sizes, order, threads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <random>
#include <thread>

#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

using Bytes = std::vector<std::byte>;

TEST_P(ConformanceTest, KnowsItsPlace) {
  Start(3);
  ASSERT_EQ(ranks_.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks_[rank]->rank(), rank);
    EXPECT_EQ(ranks_[rank]->nodes(), 3);
    EXPECT_STRNE(ranks_[rank]->name(), "");
  }
}

TEST_P(ConformanceTest, ConnectsAloneAsWell) {
  Start(1);
  ASSERT_EQ(ranks_.size(), 1u);
  ranks_[0]->Close();
}

TEST_P(ConformanceTest, ReceiveComesFirst) {
  Start(2);
  for (size_t size : {size_t{100}, size_t{5} << 20}) {
    const MessageTag tag{.step = size};
    const Bytes message = Pattern(size, 1);
    Bytes buffer(size);
    Result received = Recv(1, 0, tag, absl::MakeSpan(buffer));
    EXPECT_FALSE(received.ready());
    Result sent = Send(0, 1, tag, message);
    EXPECT_TRUE(received.Wait().ok()) << received.Wait();
    EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
    EXPECT_TRUE(buffer == message);
  }
}

TEST_P(ConformanceTest, SendComesFirst) {
  Start(2);
  for (size_t size : {size_t{100}, size_t{5} << 20}) {
    const MessageTag tag{.step = size};
    const Bytes message = Pattern(size, 2);
    Result sent = Send(0, 1, tag, message);
    // A message after it has arrived, so this one has had its time.
    std::byte token{};
    Result before = Send(0, 1, {.step = size, .key = 1}, {&token, 1});
    ASSERT_TRUE(Recv(1, 0, {.step = size, .key = 1}, {&token, 1}).Wait().ok());
    ASSERT_TRUE(before.Wait().ok());
    Bytes buffer(size);
    Result received = Recv(1, 0, tag, absl::MakeSpan(buffer));
    EXPECT_TRUE(received.Wait().ok()) << received.Wait();
    EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
    EXPECT_TRUE(buffer == message);
  }
}

TEST_P(ConformanceTest, MatchesEveryPartOfTheTag) {
  Start(2);
  const std::vector<MessageTag> tags = {{1, 1, 1, 1},
                                        {2, 1, 1, 1},
                                        {1, 2, 1, 1},
                                        {1, 1, 2, 1},
                                        {1, 1, 1, 2},
                                        {0, 0, 0, 0},
                                        {~uint64_t{0}, 0, 0, 0},
                                        {0, ~uint32_t{0}, 0, 0},
                                        {0, 0, ~uint32_t{0}, 0},
                                        {0, 0, 0, ~uint32_t{0}}};
  std::vector<Bytes> messages, buffers(tags.size(), Bytes(3000));
  std::vector<Result> results;
  for (size_t i = 0; i < tags.size(); ++i) messages.push_back(Pattern(3000, i));
  for (size_t i = 0; i < tags.size(); ++i)
    results.push_back(Send(0, 1, tags[i], messages[i]));
  for (size_t i = tags.size(); i-- > 0;)
    results.push_back(Recv(1, 0, tags[i], absl::MakeSpan(buffers[i])));
  for (const Result &result : results)
    EXPECT_TRUE(result.Wait().ok()) << result.Wait();
  for (size_t i = 0; i < tags.size(); ++i)
    EXPECT_TRUE(buffers[i] == messages[i]) << "tag " << i;
}

TEST_P(ConformanceTest, SameTagFromTwoPeersAndBothWays) {
  Start(3);
  const MessageTag tag{.step = 1};
  Bytes buffers[3][3];
  Bytes messages[3];
  std::vector<Result> results;
  for (int rank = 0; rank < 3; ++rank) messages[rank] = Pattern(2000, rank);
  for (int to = 0; to < 3; ++to)
    for (int from = 0; from < 3; ++from) {
      if (from == to) continue;
      buffers[to][from].resize(2000);
      results.push_back(Send(from, to, tag, messages[from]));
      results.push_back(Recv(to, from, tag, absl::MakeSpan(buffers[to][from])));
    }
  for (const Result &result : results)
    EXPECT_TRUE(result.Wait().ok()) << result.Wait();
  for (int to = 0; to < 3; ++to)
    for (int from = 0; from < 3; ++from)
      EXPECT_TRUE(from == to || buffers[to][from] == messages[from]);
}

TEST_P(ConformanceTest, ZeroBytesAreAMessage) {
  Start(2);
  for (bool receive_first : {false, true}) {
    const MessageTag tag{.step = receive_first};
    Result sent, received;
    if (receive_first) received = Recv(1, 0, tag, {});
    sent = Send(0, 1, tag, {});
    if (!receive_first) received = Recv(1, 0, tag, {});
    EXPECT_TRUE(received.Wait().ok()) << received.Wait();
    EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
  }
  Result streamed;
  bool called = false;
  ranks_[1]->RecvStream(
      0, {.step = 9}, 0, 8,
      [&](size_t, absl::Span<const std::byte> piece) {
        called |= !piece.empty();
      },
      streamed.done());
  Result sent = Send(0, 1, {.step = 9}, {});
  EXPECT_TRUE(streamed.Wait().ok()) << streamed.Wait();
  EXPECT_TRUE(sent.Wait().ok());
  EXPECT_FALSE(called);
}

TEST_P(ConformanceTest, SizesAroundPowersOfTwo) {
  Start(2);
  std::vector<size_t> sizes;
  for (int power : {0, 3, 6, 8, 12, 14, 16, 18, 20, 22})
    for (int delta : {-1, 0, 1})
      sizes.push_back((size_t{1} << power) + delta);
  uint64_t step = 0;
  for (size_t size : sizes) {
    const Bytes message = Pattern(size, size);
    for (bool receive_first : {false, true}) {
      const MessageTag tag{.step = ++step};
      Bytes buffer(size + 2, std::byte{0x5a});
      absl::Span<std::byte> inside(buffer.data() + 1, size);
      Result sent, received;
      if (receive_first) received = Recv(1, 0, tag, inside);
      sent = Send(0, 1, tag, message);
      if (!receive_first) received = Recv(1, 0, tag, inside);
      ASSERT_TRUE(received.Wait().ok()) << received.Wait();
      ASSERT_TRUE(sent.Wait().ok()) << sent.Wait();
      ASSERT_TRUE(std::equal(message.begin(), message.end(), inside.begin()));
      EXPECT_EQ(buffer.front(), std::byte{0x5a}) << "written outside";
      EXPECT_EQ(buffer.back(), std::byte{0x5a}) << "written outside";
    }
  }
}

TEST_P(ConformanceTest, StreamsInWholeUnitsAndInOrder) {
  Start(2);
  uint64_t step = 0;
  for (size_t unit : {1, 2, 4, 8, 64})
    for (size_t units : {1, 3, 1000, 70001})
      for (bool receive_first : {false, true}) {
        const size_t size = unit * units;
        const Bytes message = Pattern(size, size);
        const MessageTag tag{.step = ++step};
        Bytes got;
        bool inside = false;
        auto sink = [&](size_t offset, absl::Span<const std::byte> piece) {
          EXPECT_FALSE(std::exchange(inside, true)) << "calls overlap";
          EXPECT_EQ(offset, got.size());
          EXPECT_EQ(piece.size() % unit, 0u);
          got.insert(got.end(), piece.begin(), piece.end());
          inside = false;
        };
        Result sent, received;
        auto receive = [&] {
          ranks_[1]->RecvStream(0, tag, size, unit, sink, received.done());
        };
        if (receive_first) receive();
        sent = Send(0, 1, tag, message);
        if (!receive_first) receive();
        ASSERT_TRUE(received.Wait().ok()) << received.Wait();
        ASSERT_TRUE(sent.Wait().ok()) << sent.Wait();
        ASSERT_TRUE(got == message) << size << " bytes in units of " << unit;
      }
}

TEST_P(ConformanceTest, ManySmallMessagesBothWays) {
  Start(2);
  constexpr int kMessages = 5000;
  std::vector<uint64_t> values(kMessages), buffers[2];
  for (int i = 0; i < kMessages; ++i)
    values[i] = i * uint64_t{0x9e3779b97f4a7c15};
  std::vector<Result> results;
  auto bytes = [](uint64_t &value) {
    return absl::MakeSpan(reinterpret_cast<std::byte *>(&value), sizeof(value));
  };
  for (auto &buffer : buffers) buffer.resize(kMessages);
  for (int i = 0; i < kMessages; ++i)
    for (int rank : {0, 1}) {
      // Receives lag behind for one half of the tags, and lead for the other.
      const int posted = i % 2 == 0 ? i : kMessages - i;
      results.push_back(Recv(rank, 1 - rank, {.step = uint64_t(posted)},
                             bytes(buffers[rank][posted])));
      results.push_back(
          Send(rank, 1 - rank, {.step = uint64_t(i)}, bytes(values[i])));
    }
  for (const Result &result : results)
    ASSERT_TRUE(result.Wait().ok()) << result.Wait();
  for (int rank : {0, 1}) EXPECT_TRUE(buffers[rank] == values);
}

TEST_P(ConformanceTest, LongMessage) {
  Start(2);
  const Bytes message = Pattern(size_t{256} << 20, 3);
  Bytes buffer(message.size());
  Result received = Recv(1, 0, {}, absl::MakeSpan(buffer));
  Result sent = Send(0, 1, {}, message);
  ASSERT_TRUE(received.Wait().ok()) << received.Wait();
  ASSERT_TRUE(sent.Wait().ok()) << sent.Wait();
  EXPECT_TRUE(buffer == message);
  EXPECT_EQ(ranks_[0]->bytes_sent(), message.size());
  EXPECT_EQ(ranks_[1]->bytes_received(), message.size());
  EXPECT_EQ(ranks_[0]->bytes_received(), 0u);
}

TEST_P(ConformanceTest, AllToAllInAnyOrder) {
  constexpr int kRanks = 4, kMessages = 40;
  Start(kRanks);
  std::mt19937 random(1);
  struct Message {
    int from, to;
    MessageTag tag;
    Bytes bytes, buffer;
  };
  std::vector<Message> messages;
  for (int from = 0; from < kRanks; ++from)
    for (int to = 0; to < kRanks; ++to)
      for (uint32_t i = 0; from != to && i < kMessages; ++i) {
        const size_t size = random() % (size_t{1} << (random() % 20));
        messages.push_back(
            {from, to, {.step = i / 5, .key = i % 5}, Pattern(size, random()), Bytes(size)});
      }
  // Each rank in a thread of its own, sends and receives in its own order.
  std::vector<std::vector<Result>> results(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<std::pair<Message *, bool>> work;
      for (Message &message : messages) {
        if (message.from == rank) work.emplace_back(&message, true);
        if (message.to == rank) work.emplace_back(&message, false);
      }
      std::shuffle(work.begin(), work.end(), std::mt19937(rank));
      for (auto [message, sends] : work)
        results[rank].push_back(
            sends ? Send(rank, message->to, message->tag, message->bytes,
                         static_cast<int32_t>(message->tag.key))
                  : Recv(rank, message->from, message->tag,
                         absl::MakeSpan(message->buffer)));
    });
  for (std::thread &thread : threads) thread.join();
  for (const auto &of_rank : results)
    for (const Result &result : of_rank)
      ASSERT_TRUE(result.Wait().ok()) << result.Wait();
  for (const Message &message : messages)
    EXPECT_TRUE(message.buffer == message.bytes);
  for (const auto &failures : failures_) EXPECT_TRUE(failures->Now().empty());
}

TEST_P(ConformanceTest, ThreadsShareATransport) {
  Start(2);
  constexpr int kThreads = 4, kMessages = 200;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    for (int rank : {0, 1})
      threads.emplace_back([&, t, rank] {
        for (int i = 0; i < kMessages; ++i) {
          const MessageTag tag{.step = uint64_t(i), .key = uint32_t(t)};
          const Bytes message = Pattern(100 * i, t * 1000 + i);
          Bytes buffer(message.size());
          Result received = Recv(rank, 1 - rank, tag, absl::MakeSpan(buffer));
          Result sent = Send(rank, 1 - rank, tag, message);
          if (!received.Wait().ok() || !sent.Wait().ok() || buffer != message)
            ++wrong;
        }
      });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Callbacks may start new operations, and so on: more often than a stack is
// deep.
TEST_P(ConformanceTest, CallbacksCallBack) {
  Start(2);
  constexpr uint64_t kLinks = 20000;
  struct Chain {
    Transport *transport;
    uint64_t token = 0;
    Result end = {};
    void Next(uint64_t step) {
      if (step == kLinks) {
        std::move(end.done())(absl::OkStatus());
        return;
      }
      auto bytes =
          absl::MakeSpan(reinterpret_cast<std::byte *>(&token), sizeof(token));
      auto next = [this, step](absl::Status status) {
        EXPECT_TRUE(status.ok()) << status;
        Next(status.ok() ? step + 1 : kLinks);
      };
      if (transport->rank() == 0) {
        transport->Send(1, {.step = step}, 0, bytes, next);
      } else {
        transport->Recv(0, {.step = step}, bytes, next);
      }
    }
  };
  Chain sender{.transport = ranks_[0].get()};
  Chain receiver{.transport = ranks_[1].get()};
  sender.token = 42;
  std::thread thread([&] { sender.Next(0); });
  receiver.Next(0);
  thread.join();
  EXPECT_TRUE(sender.end.Wait().ok()) << sender.end.Wait();
  EXPECT_TRUE(receiver.end.Wait().ok()) << receiver.end.Wait();
  EXPECT_EQ(receiver.token, 42u);
}

// What nobody receives must not hold up what somebody does.
TEST_P(ConformanceTest, UnexpectedMessagesDoNotBlock) {
  Start(2, /*unexpected_bytes=*/1 << 20);
  constexpr int kUnexpected = 100;
  std::vector<Bytes> messages, buffers;
  std::vector<Result> sent;
  for (int i = 0; i < kUnexpected; ++i) {
    messages.push_back(Pattern(i % 10 == 0 ? size_t{3} << 20 : 30000, i));
    buffers.emplace_back(messages.back().size());
  }
  for (int i = 0; i < kUnexpected; ++i)
    sent.push_back(Send(0, 1, {.step = uint64_t(i)}, messages[i], -1));
  const Bytes wanted = Pattern(size_t{2} << 20, 1);
  Bytes buffer(wanted.size());
  Result wanted_sent = Send(0, 1, {.key = 1}, wanted);
  Result received = Recv(1, 0, {.key = 1}, absl::MakeSpan(buffer));
  ASSERT_TRUE(received.Wait().ok()) << received.Wait();
  ASSERT_TRUE(wanted_sent.Wait().ok());
  EXPECT_TRUE(buffer == wanted);
  for (int i = kUnexpected; i-- > 0;) {
    Result late = Recv(1, 0, {.step = uint64_t(i)}, absl::MakeSpan(buffers[i]));
    ASSERT_TRUE(late.Wait().ok()) << late.Wait();
    ASSERT_TRUE(sent[i].Wait().ok()) << sent[i].Wait();
    EXPECT_TRUE(buffers[i] == messages[i]);
  }
}

TEST_P(ConformanceTest, KeepsNothingIfToldSo) {
  Start(2, /*unexpected_bytes=*/0);
  std::vector<Result> sent;
  const Bytes message = Pattern(1000, 1);
  for (uint64_t i = 0; i < 10; ++i) sent.push_back(Send(0, 1, {i}, message));
  for (uint64_t i = 10; i-- > 0;) {
    Bytes buffer(message.size());
    ASSERT_TRUE(Recv(1, 0, {i}, absl::MakeSpan(buffer)).Wait().ok());
    EXPECT_TRUE(buffer == message);
  }
  for (const Result &result : sent) EXPECT_TRUE(result.Wait().ok());
}

}  // namespace
}  // namespace commsched::conformance
