// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/packet_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace commsched {
namespace {

using plan::PacketQueue;

// Every byte of every message once and in order, and at any time of the most urgent
// one that is there.
TEST(PacketQueueTest, TakesTheMostUrgentFirstAndAllOfIt) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    PacketQueue<std::pair<int, int>, int, uint64_t> queue;
    struct Message {
      int32_t priority;
      uint64_t call;
      std::pair<int, int> order;
      uint64_t bytes, taken = 0;
    };
    std::map<int, Message> waiting;  // by item
    int next = 0;
    for (int i = 0; i < 200 || !waiting.empty(); ++i) {
      if (i < 200 && random() % 2 == 0) {
        const Message message{int32_t(random() % 3) - 1,
                              random() % 3,
                              {int(random() % 4), next},
                              random() % 4 == 0 ? 0 : random() % 100};
        queue.Push({message.priority, message.call}, message.order, message.bytes, next);
        waiting.emplace(next++, message);
      }
      const uint64_t packet = 1 + random() % 60;
      const size_t frames = random() % 4;
      // Of some: what is less urgent than the first has so much room.
      const uint64_t enough = random() % 2 ? UINT64_MAX : random() % 40;
      const bool before = random() % 4 == 0;
      std::optional<std::pair<int32_t, uint64_t>> first_urgency;
      uint64_t bytes = 0;
      size_t pieces = 0;
      const uint64_t taken =
          queue.Take(packet, frames, [&](int item, uint64_t offset, uint64_t size, bool last) {
            const auto first = std::min_element(
                waiting.begin(), waiting.end(), [](const auto &a, const auto &b) {
                  return std::tuple(a.second.priority, a.second.call, a.second.order) <
                         std::tuple(b.second.priority, b.second.call, b.second.order);
                });
            ASSERT_NE(first, waiting.end());
            ASSERT_EQ(item, first->first);
            Message &message = first->second;
            ASSERT_EQ(offset, message.taken);
            const std::pair urgency{message.priority, message.call};
            if (!first_urgency && !before) first_urgency = urgency;
            const bool less = first_urgency != urgency && enough < packet;
            ASSERT_EQ(size, std::min(less ? enough - bytes : packet, message.bytes - offset));
            EXPECT_LT(bytes, less ? enough : packet);
            message.taken += size;
            bytes += size;
            ++pieces;
            ASSERT_EQ(last, message.taken == message.bytes);
            if (last) waiting.erase(first); }, enough, before);
      if (HasFatalFailure()) return;
      EXPECT_EQ(taken, bytes);
      EXPECT_LE(pieces, frames);
      // It is full, or there was nothing else as urgent.
      bool none = true;
      for (const auto &[item, message] : waiting)
        none &= bytes >= enough && first_urgency != std::pair(message.priority, message.call);
      EXPECT_TRUE(none || pieces == frames || bytes >= packet);
      EXPECT_EQ(queue.empty(), waiting.empty());
    }
  }
}

// The same where some are of use as a whole: of these, what has been begun is in a stack, and only what is more
// urgent than all of it and shorter than the rest of the last goes before that.
TEST(PacketQueueTest, WhatIsLongerWaitsForTheRestOfAWhole) {
  int overtaken = 0, waited = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    PacketQueue<int, int, uint64_t> queue;
    struct Message {
      int32_t priority;
      uint64_t bytes, taken = 0;
      bool whole = false;
    };
    std::map<int, Message> waiting;  // by item, which is the order too
    const auto urgency = [](const auto &of) { return std::pair(of.second.priority, of.first); };
    for (int next = 0; next < 100 || !waiting.empty();) {
      if (next < 100 && random() % 2 == 0) {
        const Message message{-int32_t(random() % 50), random() % 100, 0, random() % 3 != 0};
        queue.Push({message.priority, 0}, next, message.bytes, next, message.whole);
        waiting.emplace(next++, message);
      }
      const uint64_t packet = 1 + random() % 30;
      queue.Take(packet, 1 + random() % 3, [&](int item, uint64_t offset, uint64_t size, bool last) {
        // The most urgent of all, and of the wholes that have been begun.
        auto best = waiting.end(), begun = waiting.end();
        for (auto at = waiting.begin(); at != waiting.end(); ++at) {
          if (best == waiting.end() || urgency(*at) < urgency(*best)) best = at;
          if (at->second.whole && at->second.taken > 0 &&
              (begun == waiting.end() || urgency(*at) < urgency(*begun)))
            begun = at;
        }
        ASSERT_NE(best, waiting.end());
        auto expected = best;
        if (begun != waiting.end() && best != begun) {
          const bool overtakes = best->second.bytes < begun->second.bytes - begun->second.taken;
          ++(overtakes ? overtaken : waited);
          if (!overtakes) expected = begun;
        }
        ASSERT_EQ(item, expected->first);
        Message &message = expected->second;
        ASSERT_EQ(offset, message.taken);
        ASSERT_EQ(size, std::min(packet, message.bytes - offset));
        message.taken += size;
        ASSERT_EQ(last, message.taken == message.bytes);
        if (last) waiting.erase(expected);
      });
      if (HasFatalFailure()) return;
      EXPECT_EQ(queue.empty(), waiting.empty());
    }
  }
  EXPECT_GT(overtaken, 1000);
  EXPECT_GT(waited, 1000);
}

// Some of what is next taken without a packet, or given back before anything else happens.
TEST(PacketQueueTest, MovesOn) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    PacketQueue<int, int, uint64_t> queue, other;
    for (int next = 0; next < 100 || !queue.empty();) {
      if (next < 100 && random() % 2 == 0) {
        const plan::Urgency urgency{-int64_t(random() % 50), 0};
        const uint64_t bytes = random() % 100;
        const bool whole = random() % 2;
        for (auto *each : {&queue, &other}) each->Push(urgency, next, bytes, next, whole);
        ++next;
      }
      if (queue.empty()) continue;
      std::vector<std::tuple<int, uint64_t, uint64_t, bool>> pieces[2];
      const uint64_t left = other.LeftOfNext();
      const uint64_t some = left > 1 ? random() % (left - 1) : 0;
      other.Move(some);
      other.Move(-some);
      const uint64_t packet = 1 + random() % 30;
      queue.Take(packet, 9, [&](int item, uint64_t offset, uint64_t size, bool last) { pieces[0].emplace_back(item, offset, size, last); });
      other.Take(packet, 9, [&](int item, uint64_t offset, uint64_t size, bool last) { pieces[1].emplace_back(item, offset, size, last); });
      ASSERT_EQ(pieces[0], pieces[1]);
      EXPECT_EQ(std::min(left, packet), std::get<2>(pieces[0].front()));
      std::vector<std::pair<int, uint64_t>> rests[2];
      queue.ForEach([&](const plan::Urgency &, int, int item, uint64_t rest) { rests[0].emplace_back(item, rest); });
      other.ForEach([&](const plan::Urgency &, int, int item, uint64_t rest) { rests[1].emplace_back(item, rest); });
      ASSERT_EQ(rests[0], rests[1]);
      EXPECT_EQ(rests[0].empty(), queue.empty());
    }
  }
}

TEST(PacketQueueTest, GivesBackWhatIsLeft) {
  PacketQueue<int, int, uint64_t> queue;
  for (int item : {1, 2, 3}) queue.Push({}, item, 10, item);
  queue.Take(15, 9, [](int, uint64_t, uint64_t, bool) {});
  std::vector<int> left = queue.Clear();
  std::sort(left.begin(), left.end());
  // The second packet piece was all of message 2.
  EXPECT_EQ(left, (std::vector<int>{3}));
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace commsched
