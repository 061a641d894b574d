// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/base/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace commsched::ops {
namespace {

template <typename T>
std::vector<T> Apply(Element element, Combine combine, double scale,
                     std::vector<T> target, std::vector<T> source) {
  CombineElements(element, combine, scale, reinterpret_cast<std::byte *>(target.data()),
                  reinterpret_cast<const std::byte *>(source.data()), target.size());
  return target;
}

TEST(ElementTest, CombinesEveryType) {
  EXPECT_EQ(Apply<float>(Element::kF32, Combine::kSum, 0.5, {1, 2}, {3, 5}),
            (std::vector<float>{2, 3.5}));
  EXPECT_EQ(Apply<double>(Element::kF64, Combine::kMax, 0, {1, 7}, {3, 5}),
            (std::vector<double>{3, 7}));
  EXPECT_EQ(Apply<int64_t>(Element::kI64, Combine::kMin, 0, {1, 7}, {3, -5}),
            (std::vector<int64_t>{1, -5}));
  EXPECT_EQ(Apply<int32_t>(Element::kI32, Combine::kSum, 0, {INT32_MAX, 7}, {1, 5}),
            (std::vector<int32_t>{INT32_MIN, 12}));
  EXPECT_EQ(Apply<int8_t>(Element::kI8, Combine::kReplace, 0, {1, 7}, {3, 5}),
            (std::vector<int8_t>{3, 5}));
  EXPECT_EQ(Apply<uint8_t>(Element::kI1, Combine::kSum, 0, {0, 1, 1}, {0, 0, 1}),
            (std::vector<uint8_t>{0, 1, 1}));
  uint16_t one = FloatToHalf(1), three = FloatToHalf(3);
  EXPECT_EQ(Apply<uint16_t>(Element::kF16, Combine::kSum, 0.5, {one}, {three}),
            std::vector<uint16_t>{FloatToHalf(2)});
  EXPECT_EQ(Apply<uint16_t>(Element::kBF16, Combine::kReplace, 2, {0}, {FloatToBFloat16(3)}),
            std::vector<uint16_t>{FloatToBFloat16(6)});
}

TEST(ElementTest, NaNIsKeptByMaxAndMin) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (Combine combine : {Combine::kMax, Combine::kMin, Combine::kSum}) {
    EXPECT_TRUE(std::isnan(Apply<float>(Element::kF32, combine, 0, {nan}, {1})[0]));
    EXPECT_TRUE(std::isnan(Apply<float>(Element::kF32, combine, 0, {1}, {nan})[0]));
  }
}

TEST(ElementTest, SourceNeedsNoAlignment) {
  std::vector<float> target(33, 1.0f), values(33);
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
  std::vector<std::byte> shifted(values.size() * 4 + 1);
  std::memcpy(shifted.data() + 1, values.data(), values.size() * 4);
  CombineElements(Element::kF32, Combine::kSum, 0,
                  reinterpret_cast<std::byte *>(target.data()), shifted.data() + 1, 33);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(target[i], float(i) + 1);
}

// Sums of any length, from any alignment, are those of one element after the other.
template <typename T>
void ExpectSums(Element element, double scale) {
  std::mt19937 draw(7);
  std::uniform_real_distribution<T> values(-8, 8);
  for (size_t count = 0; count < 150; ++count) {
    std::vector<T> target(count), source(count);
    for (T &v : target) v = values(draw);
    for (T &v : source) v = std::ldexp(values(draw), int(draw() % 40) - 20);
    std::vector<std::byte> shifted(count * sizeof(T) + 64);
    const size_t at = draw() % 64;
    if (count != 0) std::memcpy(shifted.data() + at, source.data(), count * sizeof(T));
    std::vector<T> sums = target;
    CombineElements(element, Combine::kSum, scale, reinterpret_cast<std::byte *>(sums.data()),
                    shifted.data() + at, count);
    for (size_t i = 0; i < count; ++i) {
      volatile T sum = target[i] + source[i];  // rounded
      EXPECT_EQ(sums[i], scale == 0 ? T(sum) : T(sum * T(scale))) << i << " of " << count;
    }
  }
}
TEST(ElementTest, SumsAreThoseOfElements) {
  for (const double scale : {0.0, 1.0, 0.5, 1.0 / 3, -2.5}) {
    ExpectSums<float>(Element::kF32, scale);
    ExpectSums<double>(Element::kF64, scale);
  }
  // Numbers below the normal ones, and what is beyond the largest.
  EXPECT_EQ(Apply<float>(Element::kF32, Combine::kSum, 0.5, {0x1p-149f, 3e38f}, {0x1p-149f, 3e38f}),
            (std::vector<float>{0x1p-149f, std::numeric_limits<float>::infinity()}));
}

// Every half is a float, and comes back from it.
TEST(ElementTest, HalfGoesToFloatAndBack) {
  for (uint32_t h = 0; h < 65536; ++h) {
    float f = HalfToFloat(uint16_t(h));
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(f))));
    else
      EXPECT_EQ(FloatToHalf(f), h) << f;
  }
  EXPECT_EQ(HalfToFloat(0x3c00), 1.0f);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(HalfToFloat(0xc000), -2.0f);
}

// Halfway between two numbers, the even one.
TEST(ElementTest, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(FloatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(0x1p-25f), 0);
  EXPECT_EQ(FloatToHalf(0x1.8p-24f), 2);
  EXPECT_EQ(FloatToBFloat16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(FloatToBFloat16(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(NAN))));
}

}  // namespace
}  // namespace commsched::ops
