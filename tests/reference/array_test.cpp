// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Combine.h"
#include "reference/Scalar.h"

#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace commsched::reference;

namespace {

class ArrayTest : public ::testing::Test {
protected:
  ArrayPtr floats(std::vector<double> values, std::vector<double> bounds = {}) {
    ArrayPtr array = makeZeros(builder.getF32Type(), {int64_t(values.size())});
    array->values = std::move(values);
    if (!bounds.empty())
      array->bounds = std::move(bounds);
    return array;
  }
  MLIRContext context;
  Builder builder{&context};
};

// Every number of a 16-bit format is what its bits say, and between two of them the
// nearest one is taken, the even one if both are as near.
TEST_F(ArrayTest, SixteenBitsRoundToNearestEven) {
  for (Type type : {Type(builder.getF16Type()), Type(builder.getBF16Type())}) {
    const FloatFormat &format = *formatOf(type);
    auto tensor = RankedTensorType::get({1}, type);
    double before = 0;
    for (uint32_t bits = 0; bits < 0x8000; ++bits) {
      char bytes[2];
      uint16_t half = static_cast<uint16_t>(bits);
      std::memcpy(bytes, &half, 2);
      ArrayPtr array = fromBytes(tensor, bytes);
      double value = array->values[0];
      if (!std::isfinite(value))
        break;
      EXPECT_EQ(format.round(value), value);
      std::vector<char> back = toBytes(*array);
      EXPECT_EQ(std::memcmp(back.data(), bytes, 2), 0);
      if (bits > 0) {
        double middle = (before + value) / 2;
        EXPECT_EQ(format.round(middle), bits % 2 == 0 ? value : before);
        EXPECT_EQ(format.round(std::nextafter(middle, value)), value);
        EXPECT_EQ(format.round(-std::nextafter(middle, before)), -before);
      }
      before = value;
    }
    EXPECT_EQ(before, format.largest);
    EXPECT_TRUE(std::isinf(format.round(2 * format.largest)));
  }
}

TEST_F(ArrayTest, CompareNamesTheElementFarthestOutside) {
  ArrayPtr wanted = floats({1, 2, 3, 4}, {0.1, 0.1, 0.5, kUndetermined});
  Difference same = compare(*floats({1.05, 2, 3.4, 99}), *wanted);
  EXPECT_EQ(same.outside, 0);
  EXPECT_EQ(same.undetermined, 1);
  EXPECT_DOUBLE_EQ(same.largest, 3.4 - 3);
  Difference other = compare(*floats({1.2, 2.5, 3, 4}), *wanted);
  EXPECT_EQ(other.outside, 2);
  EXPECT_EQ(other.element, 1);
  EXPECT_EQ(other.found, 2.5);
}

TEST_F(ArrayTest, CompareCountsIdleBoundsAsUndetermined) {
  Difference idle = compare(*floats({0.5, 1}), *floats({1, 1}, {1, 0.1}));
  EXPECT_EQ(idle.undetermined, 1);
  EXPECT_EQ(idle.outside, 0);
  // Outside is outside, whatever the bound.
  EXPECT_EQ(compare(*floats({9, 1}), *floats({1, 1}, {1, 0.1})).outside, 1);
}

TEST_F(ArrayTest, CompareTakesClassesOfWhatIsNotFinite) {
  double nan = std::nan(""), inf = kUndetermined;
  EXPECT_EQ(compare(*floats({nan, inf, -inf}), *floats({nan, inf, -inf})).outside, 0);
  EXPECT_EQ(compare(*floats({1, -inf, nan}), *floats({nan, inf, -inf})).outside, 3);
}

TEST_F(ArrayTest, MeansOfRanksHaveTheBoundOfAnyOrder) {
  std::vector<ArrayPtr> parts;
  std::vector<float> numbers = {0.1f, 1e4f, -1e4f, 0.3f, 7.7f, -0.2f, 1e-3f};
  for (float number : numbers)
    parts.push_back(floats({number}));
  ArrayPtr mean = combine(parts, Combiner::mean);
  std::sort(numbers.begin(), numbers.end());
  double apart = 0;
  do {
    float sum = 0, scaled = 0;
    for (float number : numbers) {
      sum += number;
      scaled += number * (1.0f / 7);
    }
    for (float found : {sum / 7, sum * (1.0f / 7), scaled})
      apart = std::max(apart, std::fabs(found - mean->values[0]));
  } while (std::next_permutation(numbers.begin(), numbers.end()));
  EXPECT_LE(apart, mean->bounds[0]);
  EXPECT_GT(apart, mean->bounds[0] / 20);
  EXPECT_EQ(combine({floats({1}), floats({5})}, Combiner::mean)->bounds[0], 0);
  EXPECT_EQ(combine({floats({1}), floats({5})}, Combiner::max)->values[0], 5);
}

} // namespace
