// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/layout/StagingRing.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace commsched::place {
namespace {

TEST(StagingRing, NamesWhoeverHadThePlace) {
  StagingRing ring(80);
  auto expect = [&](unsigned id, int64_t bytes, int64_t offset,
                    std::vector<unsigned> before) {
    StagingRing::Place place = ring.place(id, bytes);
    EXPECT_EQ(place.offset, offset) << id;
    EXPECT_EQ(place.before, before) << id;
  };
  expect(0, 30, 0, {});
  expect(1, 48, 32, {});
  expect(2, 0, 0, {});
  expect(3, 24, 0, {0});
  expect(4, 16, 24, {0, 1});
  expect(5, 80, 0, {1, 3, 4});
  expect(6, 8, 0, {5});
}

/// Runs buffers in an order of chance, as early as their waits allow, and frees
/// them as late as chance wants: at no time is more than the capacity in use.
TEST(StagingRing, NeverMoreThanTheCapacityInUse) {
  std::mt19937 random(7);
  auto below = [&](unsigned n) { return unsigned(random() % n); };
  int64_t most = 0;
  for (int round = 0; round < 300; ++round) {
    const int64_t capacity = 1 + below(40);
    const unsigned count = 1 + below(30);
    StagingRing ring(capacity);
    std::vector<int64_t> bytes(count);
    std::vector<std::vector<unsigned>> waits(count);
    for (unsigned i = 0; i < count; ++i) {
      bytes[i] = below(unsigned(capacity) + 1);
      StagingRing::Place place = ring.place(i, bytes[i]);
      waits[i] = place.before;
      ASSERT_EQ(place.offset % 8, 0);
      ASSERT_LE(place.offset + bytes[i], capacity);
      for (unsigned earlier : waits[i])
        ASSERT_LT(earlier, i);
    }
    enum State {
      kWaiting,
      kInUse,
      kFree
    };
    std::vector<State> state(count, kWaiting);
    unsigned done = 0;
    while (done < count) {
      std::vector<unsigned> ready, used;
      int64_t total = 0;
      for (unsigned i = 0; i < count; ++i) {
        if (state[i] == kInUse) {
          used.push_back(i);
          total += bytes[i];
        }
        if (state[i] == kWaiting &&
            std::all_of(waits[i].begin(), waits[i].end(),
                        [&](unsigned w) { return state[w] == kFree; }))
          ready.push_back(i);
      }
      ASSERT_LE(total, capacity);
      most = std::max(most, total * 100 / capacity);
      ASSERT_FALSE(ready.empty() && used.empty()) << "stuck";
      if (!ready.empty() && (used.empty() || below(4) > 0)) {
        state[ready[below(unsigned(ready.size()))]] = kInUse;
      } else {
        state[used[below(unsigned(used.size()))]] = kFree;
        ++done;
      }
    }
  }
  // The bound is reached, so that the test would see it passed.
  EXPECT_EQ(most, 100);
}

} // namespace
} // namespace commsched::place
