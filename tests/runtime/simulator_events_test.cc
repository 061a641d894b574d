// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

#include "runtime/simulator/event_queue.h"

namespace commsched {
namespace {

using runtime::simulator::Event;
using runtime::simulator::EventQueue;

// By time, and at one time as they were added, those of now too; with few times and
// with more than the queue looks up at once.
TEST(EventQueueTest, EventsComeInOrder) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    EventQueue queue;
    std::multimap<int64_t, uint32_t> expected;  // of equal keys, in order of insertion
    const int64_t apart = int64_t{1} << random() % 14;
    int64_t now = 0;
    uint32_t next = 0;
    for (int i = 0; i < 20'000; ++i) {
      const bool grows = random() % 64 < (i / 5000 % 2 == 0 ? 40 : 24);
      if (expected.empty() || grows) {
        const int64_t time = now + int64_t(random() % uint64_t(apart));
        queue.Add(time, Event::kRound, next, ~next);
        expected.emplace(time, next++);
        continue;
      }
      ASSERT_FALSE(queue.empty());
      now = expected.begin()->first;
      ASSERT_EQ(queue.next_time(), now);
      const Event event = queue.Pop();
      ASSERT_EQ(event.a, expected.begin()->second);
      ASSERT_EQ(event.b, ~event.a);
      expected.erase(expected.begin());
    }
    while (!expected.empty()) {
      ASSERT_EQ(queue.next_time(), expected.begin()->first);
      ASSERT_EQ(queue.Pop().a, expected.begin()->second);
      expected.erase(expected.begin());
    }
    ASSERT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace commsched
