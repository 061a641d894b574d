// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "ops/sparse/lists.h"
#include "ops/sparse/quantize.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

using ops::Element;
using ops::sparse::ListType;
using testing::Array;
using testing::Data;

constexpr Element kElements[] = {Element::kF32, Element::kF16, Element::kBF16};

// Indices of either width.
class Indices {
 public:
  Indices(Element element, int64_t count)
      : element_(element), narrow_(size_t(count)), wide_(size_t(count)) {}
  void *data() {
    return element_ == Element::kI32 ? static_cast<void *>(narrow_.data()) : wide_.data();
  }
  int64_t operator[](size_t i) const { return element_ == Element::kI32 ? narrow_[i] : wide_[i]; }
  void Set(size_t i, int64_t index) { narrow_[i] = int32_t(index), wide_[i] = index; }
  size_t size() const { return wide_.size(); }

 private:
  const Element element_;
  std::vector<int32_t> narrow_;
  std::vector<int64_t> wide_;
};

enum class Order {
  kRandom,
  kLists,
  kAscending,
  kDescending
};

// `count` indices below `size`, a tenth of them padding.
Indices MakeIndices(Element element, Order order, int64_t count, int64_t size,
                    std::mt19937_64 &random) {
  std::vector<int64_t> list(static_cast<size_t>(count));
  for (int64_t &index : list) index = int64_t(random() % uint64_t(size));
  if (order == Order::kAscending) std::sort(list.begin(), list.end());
  if (order == Order::kDescending) std::sort(list.rbegin(), list.rend());
  if (order == Order::kLists)
    for (size_t begin = 0; begin < list.size(); begin += 37)
      std::sort(list.begin() + long(begin), list.begin() + long(std::min(begin + 37, list.size())));
  Indices indices(element, count);
  for (size_t i = 0; i < list.size(); ++i) indices.Set(i, random() % 10 == 0 ? -1 : list[i]);
  return indices;
}

struct Case {
  Element element, index;
  int64_t width, count, size;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (Element element : kElements)
    for (Element index : {Element::kI32, Element::kI64})
      for (int64_t width : {1, 3, 16})
        for (int64_t count : {0, 1, 2, 100, 3000})
          cases.push_back({element, index, width, count, 500});
  return cases;
}

Array Rounded(Element element, float value) {
  Array one(element, 1);
  one.Set(0, value);
  return one;
}

TEST(SparseListsTest, ScatterAdd) {
  std::mt19937_64 random(1);
  for (const Case &c : Cases())
    for (double scale : {1.0, 0.25, 1.0 / 3}) {
      const ListType type{c.element, c.index, c.width};
      Indices indices = MakeIndices(c.index, Order::kRandom, c.count, c.size, random);
      const Array values = MakeArray(c.element, Data::kNormal, c.count * c.width, 2);
      Array target = MakeArray(c.element, Data::kNormal, c.size * c.width, 3), wanted = target;
      for (int64_t i = 0; i < c.count; ++i)
        for (int64_t j = 0; j < c.width && indices[size_t(i)] >= 0; ++j) {
          const int64_t at = indices[size_t(i)] * c.width + j;
          const float scaled = scale == 1
                                   ? values[i * c.width + j]
                                   : Rounded(c.element, values[i * c.width + j] * float(scale))[0];
          wanted.Set(at, wanted[at] + scaled);
        }
      ASSERT_TRUE(
          ScatterAdd(type, indices.data(), values.data(), c.count, scale, target.data(), c.size)
              .ok());
      ASSERT_TRUE(target == wanted);
      // Nothing is written if one index is wrong.
      if (c.count == 0) continue;
      for (int64_t wrong : {c.size, int64_t{-2}}) {
        indices.Set(size_t(c.count / 2), wrong);
        EXPECT_EQ(
            ScatterAdd(type, indices.data(), values.data(), c.count, scale, target.data(), c.size)
                .code(),
            absl::StatusCode::kOutOfRange);
        ASSERT_TRUE(target == wanted);
      }
    }
}

TEST(SparseListsTest, ScatterClear) {
  std::mt19937_64 random(2);
  for (const Case &c : Cases()) {
    Indices indices = MakeIndices(c.index, Order::kRandom, c.count, c.size, random);
    Array target = MakeArray(c.element, Data::kNormal, c.size * c.width, 3), wanted = target;
    for (size_t i = 0; i < indices.size(); ++i)
      for (int64_t j = 0; j < c.width && indices[i] >= 0; ++j)
        wanted.set_bits(indices[i] * c.width + j, 0);
    ASSERT_TRUE(ops::sparse::ScatterClear({c.element, c.index, c.width}, indices.data(), c.count,
                                          target.data(), c.size)
                    .ok());
    ASSERT_TRUE(target == wanted);
  }
}

TEST(SparseListsTest, ScatterAddOthers) {
  std::mt19937_64 random(3);
  for (const Case &c : Cases()) {
    Indices indices(c.index, c.count), others(c.index, c.count / 2);
    const auto fill = [&](Indices &list) {
      std::vector<int64_t> some(list.size());
      for (int64_t &i : some)
        i = random() % 9 == 0 ? INT64_MAX : int64_t(random() % uint64_t(c.size));
      std::sort(some.begin(), some.end());
      for (size_t i = 0; i < some.size(); ++i) list.Set(i, some[i] == INT64_MAX ? -1 : some[i]);
    };
    fill(indices), fill(others);
    const Array values = MakeArray(c.element, Data::kNormal, c.count * c.width, 4);
    Array target = MakeArray(c.element, Data::kNormal, c.size * c.width, 5), wanted = target;
    for (int64_t i = 0; i < c.count; ++i) {
      bool other = indices[size_t(i)] < 0;
      for (size_t j = 0; j < others.size(); ++j) other = other || others[j] == indices[size_t(i)];
      for (int64_t j = 0; j < c.width && !other; ++j) {
        const int64_t at = indices[size_t(i)] * c.width + j;
        wanted.Set(at, wanted[at] + values[i * c.width + j]);
      }
    }
    ASSERT_TRUE(ops::sparse::ScatterAddOthers({c.element, c.index, c.width}, indices.data(),
                                              values.data(), c.count, others.data(), c.count / 2,
                                              target.data(), c.size)
                    .ok());
    ASSERT_TRUE(target == wanted);
  }
}

TEST(SparseListsTest, MergeLists) {
  std::mt19937_64 random(4);
  for (const Case &c : Cases())
    for (Order order : {Order::kRandom, Order::kLists, Order::kAscending, Order::kDescending}) {
      const ListType type{c.element, c.index, c.width};
      Indices indices = MakeIndices(c.index, order, c.count, c.size, random),
              merged(c.index, c.count);
      const Array values = MakeArray(c.element, Data::kNormal, c.count * c.width, 6);
      Array sums(c.element, c.count * c.width), wanted(c.element, c.count * c.width);
      std::map<int64_t, std::vector<int64_t>> places;
      for (int64_t i = 0; i < c.count; ++i)
        if (indices[size_t(i)] >= 0) places[indices[size_t(i)]].push_back(i);
      int64_t n = 0;
      for (const auto &[index, of] : places) {
        for (int64_t j = 0; j < c.width; ++j) {
          wanted.set_bits(n * c.width + j, values.bits(of[0] * c.width + j));
          for (size_t p = 1; p < of.size(); ++p)
            wanted.Set(n * c.width + j, wanted[n * c.width + j] + values[of[p] * c.width + j]);
          wanted.Set(n * c.width + j, wanted[n * c.width + j] * 0.5f);
        }
        ++n;
      }
      std::vector<std::byte> scratch(MergeScratchBytes(type, c.count) + 64);
      int64_t count = -1;
      ASSERT_TRUE(MergeLists(type, indices.data(), values.data(), c.count, 0.5, merged.data(),
                             sums.data(), &count,
                             scratch.data() + 64 - uintptr_t(scratch.data()) % 64)
                      .ok());
      ASSERT_EQ(count, n);
      auto next = places.begin();
      for (int64_t i = 0; i < c.count; ++i)
        ASSERT_EQ(merged[size_t(i)], i < n ? (next++)->first : -1);
      ASSERT_TRUE(sums == wanted);
    }
}

TEST(SparseListsTest, MergeTopK) {
  std::mt19937_64 random(5);
  for (const Case &c : Cases())
    for (int64_t k : {0, 1, 50, 600}) {
      if (c.width != 1) continue;
      const ListType type{c.element, c.index, 1};
      Indices indices = MakeIndices(c.index, Order::kLists, c.count, c.size, random),
              top(c.index, k);
      const Array values = MakeArray(c.element, Data::kTied, c.count, 7);
      Array dense(c.element, c.size), sums(c.element, k);
      std::vector<bool> there(static_cast<size_t>(c.size));
      for (int64_t i = 0; i < c.count; ++i) {
        const int64_t at = indices[size_t(i)];
        if (at < 0) continue;
        dense.Set(at, dense[at] + values[i]);
        there[size_t(at)] = true;
      }
      // Without those that are in no list.
      std::vector<int64_t> wanted;
      for (int64_t i = 0; i < c.size; ++i)
        if (there[size_t(i)]) wanted.push_back(i);
      std::stable_sort(wanted.begin(), wanted.end(), [&](int64_t a, int64_t b) {
        return std::fabs(dense[a]) > std::fabs(dense[b]);
      });
      wanted.resize(size_t(std::min<int64_t>(k, int64_t(wanted.size()))));
      std::sort(wanted.begin(), wanted.end());
      std::vector<std::byte> scratch(MergeScratchBytes(type, c.count) + 64);
      ASSERT_TRUE(MergeTopK(type, indices.data(), values.data(), c.count, k, top.data(),
                            sums.data(), scratch.data() + 64 - uintptr_t(scratch.data()) % 64)
                      .ok());
      for (size_t i = 0; i < size_t(k); ++i) {
        ASSERT_EQ(top[i], i < wanted.size() ? wanted[i] : -1);
        ASSERT_EQ(sums[int64_t(i)], i < wanted.size() ? dense[wanted[i]] : 0.0f);
      }
    }
}

TEST(QuantizeTest, FloatsAreRounded) {
  for (Element from : kElements)
    for (Element to : {Element::kF16, Element::kBF16})
      for (Data data : {Data::kNormal, Data::kAllBits, Data::kDenormal}) {
        const Array x = MakeArray(from, data, 5000, 8);
        Array codes(to, 5000), back(from, 5000);
        ASSERT_TRUE(
            ops::sparse::Quantize(from, to, x.data(), 5000, 5000, codes.data(), nullptr).ok());
        ops::sparse::Dequantize(to, from, codes.data(), 5000, 5000, nullptr, back.data());
        const float largest = to == Element::kF16 ? 65504.0f : 3.3895314e38f;
        for (int64_t i = 0; i < 5000; ++i) {
          const Array nearest = Rounded(to, x[i]);
          const float wanted =
              std::isfinite(nearest[0]) ? nearest[0] : std::copysign(largest, x[i]);
          ASSERT_EQ(codes[i], wanted) << x[i];
          ASSERT_EQ(back.bits(i), Rounded(from, codes[i]).bits(0));
        }
      }
}

TEST(QuantizeTest, IntegersAreWithinHalfAStep) {
  for (Element from : kElements)
    for (Data data :
         {Data::kNormal, Data::kHeavyTail, Data::kZero, Data::kDenormal, Data::kAllBits})
      for (int64_t block : {1, 100, 256, 5000, 9999}) {
        const Array x = MakeArray(from, data, 5000, 9);
        std::vector<int8_t> codes(5000);
        std::vector<float> scales(size_t((5000 - 1) / block + 1));
        ASSERT_TRUE(ops::sparse::Quantize(from, Element::kI8, x.data(), 5000, block, codes.data(),
                                          scales.data())
                        .ok());
        Array back(Element::kF32, 5000);
        ops::sparse::Dequantize(Element::kI8, Element::kF32, codes.data(), 5000, block,
                                scales.data(), back.data());
        double largest = 0;
        for (int64_t i = 0; i < 5000; ++i) {
          const double scale = scales[size_t(i / block)];
          if (i % block == 0) {
            largest = 0;
            for (int64_t j = i; j < std::min<int64_t>(5000, i + block); ++j)
              largest = std::max(largest, std::fabs(double(x[j])));
          }
          // Where the scale is a denormal it is rounded.
          ASSERT_NEAR(scale, largest / 127, largest / 127 * 1e-7 + 1e-45);
          ASSERT_GE(codes[size_t(i)], -127);
          // Half a step, and what a rounded scale does to 127 of them.
          ASSERT_LE(std::fabs(double(back[i]) - double(x[i])),
                    0.5001 * scale + 127 * 1e-45 + largest * 1e-6)
              << x[i];
        }
      }
}

TEST(QuantizeTest, ReportsWhatIsNotFinite) {
  for (Element from : kElements) {
    Array x = MakeArray(from, Data::kNormal, 100, 10);
    x.Set(40, NAN), x.Set(90, -INFINITY);
    std::vector<int8_t> codes(100);
    float scale = 0;
    EXPECT_EQ(ops::sparse::Quantize(from, Element::kI8, x.data(), 100, 100, codes.data(), &scale)
                  .message(),
              "2 of 100 elements are NaN or infinite, the first is element 40");
  }
}

}  // namespace
}  // namespace commsched
