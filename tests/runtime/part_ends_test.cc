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
    std::vector<size_t> parts;
    size_t bytes = 0;
    for (uint64_t n = 1 + random() % 6; n > 0; --n) {
      parts.push_back(1 + random() % 9);
      bytes += parts.back();
    }
    std::vector<Landing<size_t>> landings(random() % 6);
    for (Landing<size_t> &landing : landings) {
      landing.begin = random() % bytes;
      landing.bytes = random() % (bytes - landing.begin + 1);
      landing.at_end = random() % 5 == 0;
    }
    // By byte, when it was touched last: (round, bytes of its message).
    std::vector<std::pair<uint32_t, size_t>> last(bytes, {0, 0});
    for (uint32_t i = 0; i < landings.size(); ++i)
      for (size_t b = 0; b < landings[i].bytes; ++b)
        last[landings[i].begin + b] =
            landings[i].at_end ? std::pair(i + 1, size_t{0}) : std::pair(i, b + 1);
    const auto ends = PartEnds(parts, landings);
    ASSERT_EQ(ends.size(), parts.size());
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
    size_t begin = 0;
    for (uint32_t part = 0; part < parts.size(); ++part) {
      const auto want = *std::max_element(last.begin() + long(begin),
                                          last.begin() + long(begin + parts[part]));
      const auto own = std::find_if(ends.begin(), ends.end(),
                                    [&](const auto &end) { return end.part == part; });
      ASSERT_NE(own, ends.end());
      EXPECT_EQ(std::pair(own->round, own->bytes), want) << "part " << part;
      begin += parts[part];
    }
  }
}

}  // namespace
}  // namespace commsched::runtime
