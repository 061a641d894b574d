// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PartEnds() against receiving byte after byte: a part is there with the last byte
// that lands on it.
#include "runtime/program/part_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/cases.h"

namespace commsched::runtime {
namespace {

TEST(PartEndsTest, PartsAreThereWithTheLastByteThatLandsOnThem) {
  for (uint64_t seed = casesOf(2000).first; seed < casesOf(2000).end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const uint32_t parts = 1 + uint32_t(random() % 6);
    // Of each round, the parts of the bytes that come, in order.
    std::vector<std::vector<uint32_t>> messages(random() % 6);
    std::vector<Landing<size_t>> landings(messages.size());
    std::vector<std::pair<uint32_t, size_t>> last(parts, {0, 0});
    for (uint32_t i = 0; i < messages.size(); ++i) {
      landings[i].at_end = random() % 5 == 0;
      for (uint32_t part = 0; part < parts; ++part)
        for (uint64_t n = random() % 3 ? 1 + random() % 9 : 0; n > 0; --n)
          messages[i].push_back(part);
      for (size_t b = 0; b < messages[i].size(); ++b) {
        last[messages[i][b]] =
            landings[i].at_end ? std::pair(i + 1, size_t{0}) : std::pair(i, b + 1);
        if (b + 1 == messages[i].size() || messages[i][b + 1] != messages[i][b])
          landings[i].ends.emplace_back(messages[i][b], b + 1);
      }
    }
    const auto ends = PartEnds(parts, landings);
    ASSERT_EQ(ends.size(), parts);
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
    for (const auto &end : ends)
      EXPECT_EQ(std::pair(end.round, end.bytes), last[end.part]) << "part " << end.part;
  }
}

}  // namespace
}  // namespace commsched::runtime
