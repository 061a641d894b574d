// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/base/halves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace commsched::ops {
namespace {

uint32_t Bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}

class HalvesTest : public ::testing::TestWithParam<Element> {
 protected:
  float Widen(uint16_t v) const {
    return GetParam() == Element::kF16 ? HalfToFloat(v) : BFloat16ToFloat(v);
  }
  uint16_t Narrow(float v) const {
    return GetParam() == Element::kF16 ? FloatToHalf(v) : FloatToBFloat16(v);
  }
};

TEST_P(HalvesTest, WidensEveryNumber) {
  std::vector<uint16_t> narrow(1 << 16);
  for (size_t i = 0; i < narrow.size(); ++i) narrow[i] = uint16_t(i);
  std::vector<float> wide(narrow.size());
  WidenRow(GetParam(), narrow.data(), wide.data(), narrow.size());
  for (size_t i = 0; i < narrow.size(); ++i) {
    const float want = Widen(narrow[i]);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(wide[i])) << i;
    else
      EXPECT_EQ(Bits(wide[i]), Bits(want)) << i;
  }
}

TEST_P(HalvesTest, NarrowsAsOneNumber) {
  std::mt19937 random(1);
  std::vector<float> wide;
  for (uint32_t i = 0; i < (1 << 16); ++i) {
    // On, between and beside numbers of the type, and any.
    const float v = Widen(uint16_t(i));
    wide.insert(wide.end(), {v, v * (1 + 0x1p-9f), v * (1 + 0x1p-12f),
                             std::nextafter(v, 0.0f)});
    const uint32_t any = random();
    float f;
    std::memcpy(&f, &any, sizeof(f));
    wide.push_back(f);
  }
  std::vector<uint16_t> narrow(wide.size());
  NarrowRow(GetParam(), wide.data(), narrow.data(), wide.size());
  for (size_t i = 0; i < wide.size(); ++i) {
    if (std::isnan(wide[i]))
      EXPECT_TRUE(std::isnan(Widen(narrow[i]))) << i;
    else
      EXPECT_EQ(narrow[i], Narrow(wide[i])) << wide[i];
  }
}

// Lengths around those of vectors, and nothing behind the end is written.
TEST_P(HalvesTest, TakesEveryLength) {
  for (size_t count = 0; count < 70; ++count) {
    std::vector<float> wide(count + 1, 7.0f);
    std::vector<uint16_t> narrow(count + 1, Narrow(3.0f));
    WidenRow(GetParam(), narrow.data(), wide.data(), count);
    EXPECT_EQ(wide, [&] {
      std::vector<float> want(count + 1, 3.0f);
      want[count] = 7.0f;
      return want;
    }());
    std::vector<uint16_t> back(count + 1, 0x1234);
    NarrowRow(GetParam(), wide.data(), back.data(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(back[i], narrow[i]);
    EXPECT_EQ(back[count], 0x1234);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HalvesTest,
                         ::testing::Values(Element::kF16, Element::kBF16),
                         [](const auto &info) {
                           return std::string(ElementName(info.param));
                         });

}  // namespace
}  // namespace commsched::ops
