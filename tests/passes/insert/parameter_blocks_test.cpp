// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/ParameterBlocks.h"

#include <numeric>

#include "gtest/gtest.h"

using namespace commsched;

namespace {

using Numbers = std::vector<int64_t>;

// Sizes in elements that the classic system gives for ten servers and blocks of
// at least 1024 elements.
TEST(SliceRows, ClassicCases) {
  auto slice = [](Numbers shape) { return sliceRows(shape, 10, 1024); };
  EXPECT_EQ(slice({3, 5}), Numbers({3})); // 15
  EXPECT_EQ(slice({1024}), Numbers({1024}));
  // 9 of 2352, 784
  EXPECT_EQ(slice({28, 784}), Numbers({3, 3, 3, 3, 3, 3, 3, 3, 3, 1}));
  EXPECT_EQ(slice({8, 1020}), Numbers({2, 2, 2, 2})); // 4 of 2040
  // 6 of 1150, 1100
  EXPECT_EQ(slice({800, 10}), Numbers({115, 115, 115, 115, 115, 115, 110}));
}

TEST(SliceRows, DegenerateShapes) {
  EXPECT_EQ(sliceRows({}, 4, 1), Numbers({1}));
  EXPECT_EQ(sliceRows({0, 3}, 4, 1), Numbers({0}));
  EXPECT_EQ(sliceRows({3, 0}, 4, 1), Numbers({3}));
  EXPECT_EQ(sliceRows({1, 1000000}, 4, 1), Numbers({1}));
  EXPECT_EQ(sliceRows({3}, 4, 1), Numbers({1, 1, 1}));
  int64_t large = int64_t(1) << 40;
  EXPECT_EQ(sliceRows({large, large}, 2, 1), Numbers({large / 2, large / 2}));
}

// The rule, in the words of docs/parameter-server.md.
TEST(SliceRows, FollowsTheRule) {
  for (int64_t rows = 1; rows <= 40; ++rows)
    for (int64_t columns = 1; columns <= 7; ++columns)
      for (int64_t servers = 1; servers <= 9; ++servers)
        for (int64_t least : {1, 5, 16, 100}) {
          int64_t n = rows * columns;
          int64_t blocks = std::min(servers, std::max<int64_t>(1, n / least));
          int64_t size = (n + blocks - 1) / blocks;
          size = (size + columns - 1) / columns * columns;
          Numbers expected;
          for (int64_t left = n; left > 0; left -= size)
            expected.push_back(std::min(size, left) / columns);
          EXPECT_EQ(sliceRows({rows, columns}, servers, least), expected)
              << rows << "x" << columns << " on " << servers << ", " << least;
        }
}

TEST(SliceRows, BoundsBlocks) {
  auto slice = [](Numbers shape, int64_t most) {
    return sliceRows(shape, 2, 8, most);
  };
  EXPECT_EQ(slice({100}, 0), Numbers({50, 50}));
  EXPECT_EQ(slice({100}, 50), Numbers({50, 50}));
  EXPECT_EQ(slice({100}, 49), Numbers({34, 34, 32}));
  EXPECT_EQ(slice({10, 10}, 35), Numbers({3, 3, 3, 1}));
  // A row is never cut.
  EXPECT_EQ(slice({3, 100}, 8), Numbers({1, 1, 1}));
  EXPECT_EQ(slice({}, 8), Numbers({1}));
  EXPECT_EQ(slice({0, 3}, 8), Numbers({0}));
  EXPECT_EQ(sliceRows({40}, 1, 8, 16), Numbers({14, 14, 12}));
  int64_t large = int64_t(1) << 40;
  EXPECT_EQ(sliceRows({4, large, large}, 2, 1, 1), Numbers({1, 1, 1, 1}));
}

// As few blocks as the bound allows, and not fewer than without it.
TEST(SliceRows, FollowsTheRuleOfTheBound) {
  for (int64_t rows = 1; rows <= 40; ++rows)
    for (int64_t columns = 1; columns <= 7; ++columns)
      for (int64_t servers : {1, 2, 5})
        for (int64_t most : {16, 20, 100}) {
          Numbers blocks = sliceRows({rows, columns}, servers, 16, most);
          EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), int64_t(0)),
                    rows);
          for (int64_t block : blocks)
            EXPECT_LE(block * columns, most);
          Numbers classic = sliceRows({rows, columns}, servers, 16);
          if (classic.front() * columns <= most) {
            EXPECT_EQ(blocks, classic);
          }
          int64_t least = (rows + most / columns - 1) / (most / columns);
          EXPECT_GE(static_cast<int64_t>(blocks.size()), least);
          if (servers == 1) {
            EXPECT_EQ(blocks.front(), (rows + least - 1) / least);
          }
        }
}

TEST(PlaceUnits, Balanced) {
  auto place = [](Numbers bytes, int64_t servers) {
    std::vector<PlacedUnit> units;
    for (int64_t size : bytes)
      units.push_back({"", size});
    return placeUnits(units, servers, Placement::Balanced);
  };
  EXPECT_EQ(place({}, 3), Numbers());
  EXPECT_EQ(place({1000000, 1000, 10, 500}, 3), Numbers({0, 1, 2, 2}));
  EXPECT_EQ(place({5, 5, 5, 5}, 2), Numbers({0, 1, 0, 1}));
  EXPECT_EQ(place({1, 2, 3}, 2), Numbers({1, 1, 0}));
  EXPECT_EQ(place({7}, 4), Numbers({0}));
}

TEST(PlaceUnits, RoundRobin) {
  EXPECT_EQ(placeUnits({{"a", 9}, {"b", 1}, {"c", 1}, {"d", 1}}, 3,
                       Placement::RoundRobin),
            Numbers({0, 1, 2, 0}));
}

// Known answers of 64-bit FNV-1a: "" cbf29ce484222325, "a" af63dc4c8601ec8c,
// "foobar" 85944171f73967e8.
TEST(PlaceUnits, Hash) {
  EXPECT_EQ(placeUnits({{"", 1}, {"a", 1}, {"foobar", 1}}, 1000,
                       Placement::Hash),
            Numbers({static_cast<int64_t>(0xcbf29ce484222325 % 1000),
                     static_cast<int64_t>(0xaf63dc4c8601ec8c % 1000),
                     static_cast<int64_t>(0x85944171f73967e8 % 1000)}));
}

TEST(PlaceUnits, Names) {
  EXPECT_EQ(symbolizePlacement("balanced"), Placement::Balanced);
  EXPECT_EQ(symbolizePlacement("round-robin"), Placement::RoundRobin);
  EXPECT_EQ(symbolizePlacement("hash"), Placement::Hash);
  EXPECT_EQ(symbolizePlacement("random"), std::nullopt);
}

} // namespace
