// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ops/sparse/kernels.h"
#include "ops/sparse/lists.h"
#include "tests/ops/kernel_tester.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

using ops::Element;
using ops::KernelDesc;
using ops::sparse::RegionsType;
using testing::Array;
using testing::Data;
using testing::Dense;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::byte *AlignedTo64(std::vector<std::byte> &memory) {
  return memory.data() + 64 - uintptr_t(memory.data()) % 64;
}

// What the cuts are by the description, element by element.
std::vector<int64_t> Cuts(int64_t size, const std::vector<int64_t> &shifts) {
  const int64_t n = int64_t(shifts.size()) + 1;
  std::vector<int64_t> cuts = {0};
  for (int64_t r = 1; r < n; ++r)
    cuts.push_back(std::clamp(r * size / n + shifts[size_t(r - 1)], cuts.back(), size));
  cuts.push_back(size);
  return cuts;
}

template <typename Index>
void CheckSplit(Element element, Data data, int64_t size, int64_t k, int64_t regions,
                int64_t capacity, std::mt19937_64 &random) {
  std::vector<int64_t> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  places.resize(size_t(k));
  std::sort(places.begin(), places.end());
  std::vector<Index> indices(places.begin(), places.end());
  const int64_t padding = int64_t(random() % 3);
  indices.resize(size_t(k + padding), Index(-1));
  const Array values = MakeArray(element, data, k + padding, random());
  std::vector<Index> shifts(static_cast<size_t>(regions - 1));
  for (Index &shift : shifts)
    shift = Index(int64_t(random() % uint64_t(size)) - size / 2) / Index(1 + random() % 4);

  const RegionsType type{element, sizeof(Index) == 4 ? Element::kI32 : Element::kI64, size,
                         regions};
  std::vector<Index> got(static_cast<size_t>(regions * capacity), 77),
      counts(static_cast<size_t>(regions), 77);
  Array sent(element, regions * capacity), wanted(element, regions * capacity);
  std::vector<std::byte> scratch(ops::sparse::RegionsScratchBytes(type, k + padding) + 64);
  absl::Status s = SplitRegions(type, shifts.data(), indices.data(), values.data(), k + padding,
                                capacity, got.data(), sent.data(), counts.data(),
                                AlignedTo64(scratch));
  ASSERT_TRUE(s.ok()) << s;

  const auto cuts = Cuts(size, {shifts.begin(), shifts.end()});
  std::vector<Index> want(static_cast<size_t>(regions * capacity), Index(-1));
  for (int64_t r = 0; r < regions; ++r) {
    std::vector<int64_t> inside;  // places in the list
    for (int64_t i = 0; i < k; ++i)
      if (places[size_t(i)] >= cuts[size_t(r)] && places[size_t(i)] < cuts[size_t(r + 1)])
        inside.push_back(i);
    ASSERT_EQ(int64_t(counts[size_t(r)]), int64_t(inside.size()));
    std::stable_sort(inside.begin(), inside.end(), [&](int64_t a, int64_t b) {
      return values.magnitude(a) > values.magnitude(b);
    });
    if (int64_t(inside.size()) > capacity) inside.resize(size_t(capacity));
    std::sort(inside.begin(), inside.end());
    for (size_t i = 0; i < inside.size(); ++i) {
      want[size_t(r * capacity) + i] = indices[size_t(inside[i])];
      wanted.set_bits(r * capacity + int64_t(i), values.bits(inside[i]));
    }
  }
  ASSERT_EQ(got, want);
  ASSERT_TRUE(sent == wanted);
}

TEST(RegionsTest, SplitTakesTheLargestOfEachRegion) {
  std::mt19937_64 random(1);
  for (Element element : {Element::kF32, Element::kF16, Element::kBF16})
    for (Data data : {Data::kNormal, Data::kTied, Data::kConstant, Data::kZero, Data::kHeavyTail})
      for (auto [size, k] : {std::pair{1, 1}, {40, 7}, {1000, 300}, {5000, 5000}})
        for (int64_t regions : {2, 3, 8, 16})
          for (int64_t capacity : {1, 5, 60, 5000}) {
            CheckSplit<int32_t>(element, data, size, k, regions, capacity, random);
            CheckSplit<int64_t>(element, data, size, k, regions, capacity, random);
          }
}

TEST(RegionsTest, SplitRefusesOtherLists) {
  std::vector<int32_t> shifts = {0}, split(4), counts(2);
  std::vector<float> values(3), sent(4);
  const RegionsType type{Element::kF32, Element::kI32, 10, 2};
  std::vector<std::byte> scratch(ops::sparse::RegionsScratchBytes(type, 3) + 64);
  const auto error = [&](std::vector<int32_t> indices) {
    return SplitRegions(type, shifts.data(), indices.data(), values.data(), 3, 2, split.data(),
                        sent.data(), counts.data(), AlignedTo64(scratch));
  };
  EXPECT_TRUE(error({0, 3, 9}).ok());
  EXPECT_THAT(error({3, 2, 9}).ToString(), HasSubstr("a list must ascend, got: 3, 2 in place 1"));
  EXPECT_THAT(error({3, -1, 9}).ToString(),
              HasSubstr("a list must have padding at the end, got: 9 in place 2"));
  EXPECT_EQ(error({3, 4, 10}).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(error({-2, 4, 9}).code(), absl::StatusCode::kOutOfRange);
}

// Where entries lie unevenly, regions have nearly equal numbers of them after a few
// steps.
TEST(RegionsTest, RegionsBecomeBalanced) {
  constexpr int64_t kSize = 100'000, kSelected = 2'000;
  for (int64_t regions : {2, 3, 7, 16}) {
    std::mt19937_64 random(static_cast<uint64_t>(regions));
    std::vector<int32_t> shifts(static_cast<size_t>(regions - 1), 0);
    double share = 1;
    for (int step = 0; step < 6; ++step) {
      const RegionsType type{Element::kF32, Element::kI32, kSize, regions};
      const int64_t kept = kSelected / regions;
      std::vector<int64_t> entries, cuts = Cuts(kSize, {shifts.begin(), shifts.end()});
      std::vector<int32_t> indices(size_t(regions * kept), -1), counts(size_t(regions), 0);
      // Half of them lie in the first quarter.
      for (int64_t i = 0; i < regions * kSelected; ++i) {
        const double x = std::uniform_real_distribution<>(0, 1)(random);
        entries.push_back(std::min(kSize - 1, int64_t(x * x * kSize)));
      }
      std::sort(entries.begin(), entries.end());
      for (int64_t r = 0; r < regions; ++r) {
        std::vector<int64_t> inside;
        for (int64_t e : entries)
          if (e >= cuts[size_t(r)] && e < cuts[size_t(r + 1)]) inside.push_back(e);
        counts[size_t(r)] = int32_t(inside.size());
        share = std::max(r == 0 ? 0 : share, double(inside.size()) / double(entries.size()));
        std::vector<int64_t> chosen;
        inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
        std::sample(inside.begin(), inside.end(), std::back_inserter(chosen), kept, random);
        std::copy(chosen.begin(), chosen.end(), indices.begin() + long(r * kept));
      }
      std::vector<std::byte> scratch(ops::sparse::RegionsScratchBytes(type, 0) + 64);
      ASSERT_TRUE(BalanceRegions(type, shifts.data(), indices.data(), counts.data(), kept,
                                 shifts.data(), AlignedTo64(scratch))
                      .ok());
    }
    EXPECT_LT(share, 1.25 / double(regions)) << regions << " regions";
  }
}

TEST(RegionsTest, BalanceByHand) {
  const RegionsType type{Element::kF32, Element::kI32, 100, 4};
  std::vector<std::byte> scratch(ops::sparse::RegionsScratchBytes(type, 0) + 64);
  const auto balance = [&](std::vector<int32_t> shifts, std::vector<int32_t> indices,
                           std::vector<int32_t> counts) {
    absl::Status s = BalanceRegions(type, shifts.data(), indices.data(), counts.data(), 2,
                                    shifts.data(), AlignedTo64(scratch));
    EXPECT_TRUE(s.ok()) << s;
    return shifts;
  };
  // All in region 0, at 4 and 8: a quarter and a half of them begin at 4 and 8.
  EXPECT_THAT(balance({0, 0, 0}, {4, 8, -1, -1, -1, -1, -1, -1}, {8, 0, 0, 0}),
              ElementsAre(4 - 25, 8 - 50, 8 - 75));
  // Without indices, evenly: regions of 10, 15, 25 and 50 elements.
  EXPECT_THAT(balance({-15, -25, -25}, std::vector<int32_t>(8, -1), {0, 0, 0, 4}),
              ElementsAre(62 - 25, 75 - 50, 87 - 75));
  EXPECT_THAT(balance({1, 2, 3}, std::vector<int32_t>(8, -1), {0, 0, 0, 0}), ElementsAre(1, 2, 3));
  std::vector<int32_t> shifts(3), indices(8, 100), counts = {1, 1, 1, 1};
  const auto error = [&] {
    return BalanceRegions(type, shifts.data(), indices.data(), counts.data(), 2, shifts.data(),
                          AlignedTo64(scratch));
  };
  EXPECT_THAT(error().ToString(), HasSubstr("index 100 in place 0"));
  counts[2] = -1;
  EXPECT_THAT(error().ToString(), HasSubstr("count of region 2 must not be negative, got: -1"));
}

TEST(RegionsTest, Kernels) {
  constexpr Element F = Element::kF32, I = Element::kI32;
  const auto run = [](const KernelDesc &desc, std::vector<void *> operands) -> absl::Status {
    ops::PrepareComputeThread();
    auto kernel = ops::MakeKernel(desc);
    if (!kernel.ok()) return kernel.status();
    std::vector<std::byte> scratch((*kernel)->scratch_bytes() + 64);
    return (*kernel)->Run(operands.data(), AlignedTo64(scratch));
  };
  std::vector<int32_t> indices = {0, 1, 2, 9}, shifts = {0}, split(4), counts(2);
  std::vector<float> values = {1, -3, 2, 4}, sent(4);
  KernelDesc desc{"split_regions",
                  {Dense(I, {4}), Dense(F, {4}), Dense(I, {1}), Dense(F, {4}), Dense(I, {4}),
                   Dense(I, {2})},
                  {{"size", {10}}},
                  false};
  ASSERT_TRUE(run(desc, {indices.data(), values.data(), shifts.data(), sent.data(), split.data(),
                         counts.data()})
                  .ok());
  EXPECT_THAT(sent, ElementsAre(-3, 2, 4, 0));
  EXPECT_THAT(split, ElementsAre(1, 2, 9, -1));
  EXPECT_THAT(counts, ElementsAre(3, 1));
  KernelDesc balance{"balance_regions",
                     {Dense(I, {4}), Dense(I, {2}), Dense(I, {1}), Dense(I, {1})},
                     {{"size", {10}}},
                     false};
  ASSERT_TRUE(run(balance, {split.data(), counts.data(), shifts.data(), shifts.data()}).ok());
  EXPECT_THAT(shifts, ElementsAre(2 - 5));  // 2 of 4 lie in front of 2
  const auto refusal = [](KernelDesc wrong) {
    return std::string(ops::CheckKernel(wrong).message());
  };
  KernelDesc wrong = desc;
  wrong.operands[5] = Dense(I, {3});
  EXPECT_THAT(refusal(wrong), HasSubstr("2 or more regions of equal length, got: 4 in 3"));
  wrong = desc;
  wrong.operands[2] = Dense(I, {2});
  EXPECT_THAT(refusal(wrong), HasSubstr("operand 2 must have the dimensions [1], got: [2]"));
  wrong = balance;
  wrong.attributes.clear();
  EXPECT_THAT(refusal(wrong), HasSubstr("size must be 1 or more"));
}

// The lists of regions have padding in their middle.
TEST(RegionsTest, OthersMayHavePaddingAnywhere) {
  std::vector<int32_t> indices = {1, -1, 4, 7, -1, -1}, others = {-1, 4, -1, 9};
  std::vector<float> values = {1, 50, 2, 3, 60, 70}, target(10, 0.5f);
  const ops::sparse::ListType type{Element::kF32, Element::kI32, 1};
  ASSERT_TRUE(ScatterAddOthers(type, indices.data(), values.data(), 6, others.data(), 4,
                               target.data(), 10)
                  .ok());
  EXPECT_THAT(target, ElementsAre(0.5, 1.5, 0.5, 0.5, 0.5, 0.5, 0.5, 3.5, 0.5, 0.5));
  indices[5] = 6;
  EXPECT_THAT(ScatterAddOthers(type, indices.data(), values.data(), 6, others.data(), 4,
                               target.data(), 10)
                  .ToString(),
              HasSubstr("a list must ascend, got: 7, 6 in place 5"));
}

}  // namespace
}  // namespace commsched
