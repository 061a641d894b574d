// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/top_k.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "ops/sparse/scan.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

using ops::Element;
using ops::sparse::TopKMethod;
using ops::sparse::TopKProblem;
using testing::Array;
using testing::Data;
using testing::Feedback;
using ::testing::HasSubstr;
using testing::Selected;

constexpr Element kElements[] = {Element::kF32, Element::kF16, Element::kBF16};
constexpr TopKMethod kExactMethods[] = {TopKMethod::kExact, TopKMethod::kHistogram,
                                        TopKMethod::kSampled};

// Sanitizers look at accesses, and are 10 to 100 times as slow: they get smaller
// sizes where no other way through the kernels depends on them (a sample is taken
// from 16384 elements on, threads from 65536 elements for each).
#ifdef COMMSCHED_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TopKProblem Problem(Element element, int64_t size, int64_t k,
                    TopKMethod method = TopKMethod::kExact, int threads = 1) {
  TopKProblem problem;
  problem.element = element;
  problem.index = (size + k) % 2 ? Element::kI32 : Element::kI64;
  problem.size = size;
  problem.k = k;
  problem.method = method;
  problem.threads = threads;
  return problem;
}

std::string Describe(const TopKProblem &p) {
  return absl::StrCat(ops::ElementName(p.element), " size ", p.size, " k ", p.k, " method ",
                      int(p.method), " threads ", p.threads);
}

// The same bits.
void ExpectSame(const Array &got, const Array &wanted) {
  if (got == wanted) return;
  ASSERT_EQ(got.size(), wanted.size());
  for (int64_t i = 0; i < got.size(); ++i) ASSERT_EQ(got.bits(i), wanted.bits(i)) << "at " << i;
}

// The same, of NaN any bits.
void ExpectSameButNan(Array got, const Array &wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (int64_t i = 0; i < got.size(); ++i)
    if (std::isnan(wanted[i]) && std::isnan(got[i])) got.set_bits(i, wanted.bits(i));
  ExpectSame(got, wanted);
}

// Places and values as in `array`, and the residual is the rest of it.
void ExpectSelected(const Selected &got, const Array &array, const std::vector<int64_t> &places,
                    bool feedback) {
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_FALSE(got.damaged);
  ASSERT_EQ(got.places, places);
  Array values(array.element(), int64_t(places.size())), rest = array;
  for (size_t i = 0; i < places.size(); ++i) {
    values.set_bits(int64_t(i), array.bits(places[i]));
    rest.set_bits(places[i], 0);
  }
  Array first(array.element(), values.size());  // of SelectAbove more follow
  ASSERT_GE(got.values.size(), first.size());
  std::memcpy(first.data(), got.values.data(),
              places.size() * ops::ElementBytes(array.element()));
  ExpectSame(first, values);
  if (feedback) ExpectSame(got.residual, rest);
}

// The same by sorting: without feedback of x, with it of x + residual.
void CheckAgainstSorting(const TopKProblem &problem, const Array &x, const Array &residual) {
  SCOPED_TRACE(Describe(problem));
  ExpectSelected(Select(problem, x, nullptr, Feedback::kNone), x,
                 testing::FirstPlaces(x, problem.k), false);
  const Array sum = testing::Add(x, residual);
  for (int64_t i = 0; i < sum.size(); ++i)
    if (!std::isfinite(sum[i])) return;
  for (Feedback feedback : {Feedback::kInPlace, Feedback::kApart})
    ExpectSelected(Select(problem, x, &residual, feedback), sum,
                   testing::FirstPlaces(sum, problem.k), true);
}

std::vector<int64_t> SomeK(int64_t size) {
  const std::set<int64_t> k = {0, 1, size / 1000, size / 100, size / 2, size - 1, size};
  std::vector<int64_t> valid;
  for (int64_t n : k)
    if (n >= 0 && n <= size) valid.push_back(n);
  return valid;
}

class TopKTest : public ::testing::TestWithParam<std::tuple<Element, Data>> {};

TEST_P(TopKTest, EverySmallSizeAndK) {
  const auto [element, data] = GetParam();
  for (int64_t size : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 130}) {
    const Array x = MakeArray(element, data, size, 1), residual = MakeArray(element, data, size, 2);
    for (int64_t k = 0; k <= size; k += size > 20 ? 7 : 1)
      for (TopKMethod method : kExactMethods)
        CheckAgainstSorting(Problem(element, size, k, method), x, residual);
  }
}

TEST_P(TopKTest, LargerSizes) {
  const auto [element, data] = GetParam();
  for (int64_t size : {1000, kSanitized ? 17001 : 50001}) {
    const Array x = MakeArray(element, data, size, 3), residual = MakeArray(element, data, size, 4);
    for (int64_t k : SomeK(size))
      for (TopKMethod method : {TopKMethod::kHistogram, TopKMethod::kSampled}) {
        CheckAgainstSorting(Problem(element, size, k, method), x, residual);
        if (HasFatalFailure()) return;
      }
  }
}

TEST_P(TopKTest, ThreadsDoNotMatter) {
  const auto [element, data] = GetParam();
  if (data != Data::kNormal && data != Data::kTied && data != Data::kClusters &&
      data != Data::kAllBits)
    GTEST_SKIP() << "four kinds of data are enough";
  const int64_t size = 140003;
  const Array x = MakeArray(element, data, size, 5), residual = MakeArray(element, data, size, 6);
  for (int64_t k : {int64_t{0}, int64_t{37}, size / 50, size})
    for (TopKMethod method : {TopKMethod::kHistogram, TopKMethod::kSampled, TopKMethod::kMsTopK}) {
      if (kSanitized && (k == 0 || k == size) && data != Data::kNormal) continue;
      const TopKProblem one = Problem(element, size, k, method);
      TopKProblem several = one;
      several.threads = 2;
      SCOPED_TRACE(Describe(several));
      for (Feedback feedback : {Feedback::kNone, Feedback::kInPlace}) {
        const Array *r = feedback == Feedback::kNone ? nullptr : &residual;
        const Selected a = Select(one, x, r, feedback), b = Select(several, x, r, feedback);
        ASSERT_EQ(a.status, b.status);
        EXPECT_EQ(a.non_finite.count, b.non_finite.count);
        EXPECT_EQ(a.non_finite.first, b.non_finite.first);
        if (!a.status.ok()) continue;
        EXPECT_FALSE(b.damaged);
        ASSERT_EQ(a.places, b.places);
        ASSERT_TRUE(a.values == b.values);
        ASSERT_TRUE(a.residual == b.residual);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, TopKTest,
                         ::testing::Combine(::testing::ValuesIn(kElements),
                                            ::testing::ValuesIn(testing::kAllData)),
                         [](const auto &info) {
                           return absl::StrCat(ops::ElementName(std::get<0>(info.param)), "_",
                                               int(std::get<1>(info.param)));
                         });

// The vector instructions of every machine that this one can act as.
TEST(TopKTargetsTest, GiveTheSame) {
  const int64_t targets = ops::sparse::RestrictScanTargets(0);
  const int64_t size = kSanitized ? 17000 : 70000;
  int tried = 0;
  for (int64_t target = 1; target != 0; target <<= 1) {
    if ((targets & target) == 0) continue;
    ++tried;
    ops::sparse::RestrictScanTargets(target);
    for (Element element : kElements) {
      // All pairs of what a 16-bit element can be with others, NaN apart.
      const Array x = MakeArray(element, Data::kAllBits, size, 7),
                  residual = MakeArray(element, Data::kHeavyTail, size, 8);
      for (TopKMethod method : kExactMethods)
        CheckAgainstSorting(Problem(element, size, 1000, method), x, residual);
      TopKProblem problem = Problem(element, size, 1000, TopKMethod::kMsTopK);
      problem.steps = 5;
      const Selected got = Select(problem, x, &residual, Feedback::kApart);
      ops::sparse::RestrictScanTargets(0);
      const Selected wanted = Select(problem, x, &residual, Feedback::kApart);
      ops::sparse::RestrictScanTargets(target);
      EXPECT_EQ(got.places, wanted.places) << "target " << target;
      EXPECT_TRUE(got.residual == wanted.residual) << "target " << target;
      EXPECT_EQ(got.status, wanted.status);
      for (int32_t above : {-1, 0, 0x3f80}) {
        size_t count = 0;
        for (int64_t i = 3; i < size - 1; ++i) count += int32_t(x.magnitude(i)) > above;
        EXPECT_EQ(ops::sparse::CountAbove(element, x.data(), 3, size_t(size - 1), above), count);
      }
    }
  }
  ops::sparse::RestrictScanTargets(0);
  EXPECT_GE(tried, 1);
}

TEST(TopKTest, SumsAreRoundedAsTheRuntimeDoes) {
  // Every f16 and bf16 there is, with some others, NaN and infinity included.
  for (Element element : {Element::kF16, Element::kBF16}) {
    for (float other : {0.0f, 1.0f, -0.3f, 65000.0f, 6e-8f, 1e-30f, -INFINITY}) {
      Array x(element, 65536), residual(element, 65536);
      for (int64_t i = 0; i < 65536; ++i) x.set_bits(i, uint32_t(i)), residual.Set(i, other);
      const Array sum = testing::Add(x, residual);
      const Selected got = Select(Problem(element, 65536, 0), x, &residual, Feedback::kApart);
      EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument);
      SCOPED_TRACE(absl::StrCat("+ ", other));
      ExpectSameButNan(got.residual, sum);
    }
  }
}

TEST(TopKTest, ReportsWhatIsNotFinite) {
  const float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = INFINITY;
  const int64_t size = 300000;
  for (Element element : kElements) {
    Array x = MakeArray(element, Data::kNormal, size, 9);
    const Array residual = MakeArray(element, Data::kNormal, size, 10);
    x.Set(123456, kNan), x.Set(250000, -kInf), x.Set(size - 1, kInf);
    const Array sum = testing::Add(x, residual);
    for (int threads : {1, 4})
      for (TopKMethod method : {TopKMethod::kHistogram, TopKMethod::kSampled, TopKMethod::kMsTopK})
        for (int64_t k : {0, 3000, 300000})
          for (Feedback feedback : {Feedback::kNone, Feedback::kInPlace}) {
            if (element != Element::kF32 && k == 3000) continue;
            if (kSanitized && (element == Element::kF16 || k == 0)) continue;
            const TopKProblem problem = Problem(element, size, k, method, threads);
            SCOPED_TRACE(Describe(problem));
            const Array *r = feedback == Feedback::kNone ? nullptr : &residual;
            const Selected got = Select(problem, x, r, feedback);
            EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument);
            EXPECT_THAT(std::string(got.status.message()),
                        HasSubstr("3 of 300000 elements to select from are NaN or infinite, the "
                                  "first is element 123456"));
            EXPECT_EQ(got.non_finite.count, 3);
            EXPECT_EQ(got.non_finite.first, 123456);
            EXPECT_FALSE(got.damaged);
            if (r == nullptr) continue;
            Array rest = got.residual;
            EXPECT_TRUE(std::isnan(rest[123456]));
            rest.set_bits(123456, sum.bits(123456));
            ExpectSame(rest, sum);
          }
  }
}

TEST(TopKTest, ReportsWhenNearlyAllIsNotFinite) {
  for (Element element : kElements)
    for (TopKMethod method : {TopKMethod::kHistogram, TopKMethod::kSampled, TopKMethod::kMsTopK}) {
      Array x(element, 100000);
      for (int64_t i = 0; i < x.size(); ++i) x.Set(i, i < 5 ? 1.0f : NAN);
      const Selected got =
          Select(Problem(element, x.size(), 10, method), x, nullptr, Feedback::kNone);
      EXPECT_EQ(got.non_finite.count, 99995);
      EXPECT_EQ(got.non_finite.first, 5);
    }
}

TEST(TopKTest, SelectAbove) {
  for (Element element : kElements)
    for (Data data : {Data::kNormal, Data::kTied, Data::kZero, Data::kConstant})
      for (int64_t k : {0, 100, 20000}) {
        const int threads = k == 100 ? 2 : 1;
        const int64_t size = threads == 2 ? 140000 : 20000;
        const Array x = MakeArray(element, data, size, 11),
                    residual = MakeArray(element, Data::kZero, size, 12);
        const Array sum = testing::Add(x, residual);
        for (double threshold : {-1.0, 0.0, 1e-30, 0.70001, 3.0, 1e30, double(INFINITY)}) {
          if (kSanitized && threads == 2 && threshold != 0 && threshold != 0.70001) continue;
          int64_t count = 0;
          for (int64_t i = 0; i < size; ++i) count += std::fabs(double(sum[i])) >= threshold;
          count = std::min(count, k);
          TopKProblem problem = Problem(element, size, k);
          problem.threads = threads;
          SCOPED_TRACE(absl::StrCat(Describe(problem), " from ", threshold));
          Selected got = Select(problem, x, &residual, Feedback::kApart, &threshold);
          ASSERT_EQ(got.count, count);
          for (int64_t i = count; i < k; ++i) {
            ASSERT_EQ(got.places[size_t(i)], -1);
            ASSERT_EQ(got.values.bits(i), 0u);
          }
          got.places.resize(size_t(count));
          ExpectSelected(got, sum, testing::FirstPlaces(sum, count), true);
        }
      }
  const double nan = NAN;
  const Array x = MakeArray(Element::kF32, Data::kNormal, 10, 1);
  EXPECT_EQ(
      Select(Problem(Element::kF32, 10, 3), x, nullptr, Feedback::kNone, &nan).status.message(),
      "the threshold is NaN");
}

// Algorithm 1 of the paper, in its words.
std::vector<int64_t> MsTopKByThePaper(const Array &x, const TopKProblem &problem, bool *hits_k,
                                      int64_t *between) {
  const int64_t d = x.size();
  double mean = 0, most = 0;
  for (int64_t i = 0; i < d; ++i) {
    mean += std::fabs(double(x[i])) / double(d);
    most = std::max(most, std::fabs(double(x[i])));
  }
  double l = 0, r = 1, thres1 = INFINITY, thres2 = 0;
  int64_t k1 = 0, k2 = d;
  for (int i = 0; i < problem.steps; ++i) {
    const double ratio = l + (r - l) / 2, thres = mean + ratio * (most - mean);
    int64_t nnz = 0;
    for (int64_t j = 0; j < d; ++j) nnz += std::fabs(double(x[j])) >= thres;
    if (nnz <= problem.k) {
      r = ratio;
      if (nnz > k1) k1 = nnz, thres1 = thres;
    } else {
      l = ratio;
      if (nnz < k2) k2 = nnz, thres2 = thres;
    }
  }
  *hits_k = k1 == problem.k;
  std::vector<int64_t> first, second;
  for (int64_t j = 0; j < d; ++j) {
    const double a = std::fabs(double(x[j]));
    if (a >= thres1)
      first.push_back(j);
    else if (a >= thres2)
      second.push_back(j);
  }
  *between = int64_t(second.size());
  EXPECT_EQ(int64_t(first.size()), k1);
  // What may be taken of the second set is checked by the caller.
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(MsTopKTest, DoesWhatThePaperSays) {
  for (Element element : kElements)
    for (Data data : testing::kAllData)
      for (int steps : {1, 3, 30})
        for (int64_t k : {1, 100, 1000, 19999, 20000}) {
          const int64_t size = 20000;
          if (element != Element::kF32 && (steps == 3 || k == 100)) continue;
          if (kSanitized && (steps == 1 || k == 19999)) continue;
          const Array x = MakeArray(element, data, size, 13);
          TopKProblem problem = Problem(element, size, k, TopKMethod::kMsTopK);
          problem.steps = steps;
          SCOPED_TRACE(absl::StrCat(Describe(problem), " steps ", steps, " data ", int(data)));
          bool hits_k = false;
          int64_t between = 0;
          const std::vector<int64_t> sets = MsTopKByThePaper(x, problem, &hits_k, &between);
          const size_t k1 = sets.size() - size_t(between);
          std::set<std::vector<int64_t>> answers;
          for (uint64_t seed : {1, 2, 3}) {
            problem.seed = seed;
            const Selected got = Select(problem, x, nullptr, Feedback::kNone);
            ASSERT_TRUE(got.status.ok()) << got.status;
            ASSERT_EQ(got.places.size(), size_t(k));
            ASSERT_TRUE(std::is_sorted(got.places.begin(), got.places.end()));
            // All of the first set, and a run of the second.
            std::vector<int64_t> rest;
            std::set_difference(got.places.begin(), got.places.end(), sets.begin(),
                                sets.begin() + long(k1), std::back_inserter(rest));
            ASSERT_EQ(rest.size(), size_t(k) - k1);
            if (!rest.empty()) {
              auto run = std::find(sets.begin() + long(k1), sets.end(), rest[0]);
              ASSERT_GE(sets.end() - run, long(rest.size()));
              ASSERT_TRUE(std::equal(rest.begin(), rest.end(), run));
            }
            answers.insert(got.places);
            // Again, the same; and stopped early, where that is allowed to differ
            // in time only.
            EXPECT_EQ(Select(problem, x, nullptr, Feedback::kNone).places, got.places);
            problem.stop_early = true;
            if (hits_k) {
              EXPECT_EQ(Select(problem, x, nullptr, Feedback::kNone).places, got.places);
            }
            problem.stop_early = false;
          }
          if (hits_k) {
            EXPECT_EQ(*answers.begin(), testing::FirstPlaces(x, k));
          } else if (between > int64_t(k) - int64_t(k1) + 1000) {
            EXPECT_GT(answers.size(), 1u) << "the seed must matter";
          }
        }
}

TEST(MsTopKTest, KeepsTheRest) {
  for (Element element : kElements)
    for (Data data : {Data::kNormal, Data::kTied, Data::kConstant}) {
      const Array x = MakeArray(element, data, 50000, 14),
                  residual = MakeArray(element, data, 50000, 15);
      const Array sum = testing::Add(x, residual);
      TopKProblem problem = Problem(element, 50000, 777, TopKMethod::kMsTopK);
      problem.steps = 4;
      const Selected got = Select(problem, x, &residual, Feedback::kInPlace);
      ExpectSelected(got, sum, got.places, true);
    }
}

TEST(TopKTest, ChecksTheProblem) {
  const auto message = [](TopKProblem p) { return std::string(CheckTopK(p).message()); };
  EXPECT_EQ(message(Problem(Element::kF64, 3, 1)), "elements must be f32, f16 or bf16, got: f64");
  EXPECT_EQ(message(Problem(Element::kF32, 3, 4)), "k must be 0 to 3, got: 4");
  EXPECT_EQ(message(Problem(Element::kF32, -1, 0)), "size must be 0 to 2^46, got: -1");
  TopKProblem problem = Problem(Element::kF32, 3, 1);
  problem.threads = 0;
  EXPECT_EQ(message(problem), "threads must be 1 to 256, got: 0");
}

TEST(TopKTest, UsesTheCallersThreads) {
  const Array x = MakeArray(Element::kF32, Data::kNormal, 300000, 16);
  TopKProblem problem = Problem(Element::kF32, 300000, 300, TopKMethod::kHistogram, 3);
  std::vector<float> values(300);
  std::vector<int32_t> indices(300);
  std::vector<std::byte> scratch(TopKScratchBytes(problem) + 64);
  problem.index = Element::kI32;
  ops::sparse::TopKBuffers buffers;
  buffers.input = x.data();
  buffers.values = values.data();
  buffers.indices = indices.data();
  buffers.scratch = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
  int calls = 0;
  ASSERT_TRUE(TopK(problem, buffers, nullptr, [&](int n, const auto &task) {
                ++calls;
                for (int i = n; i-- > 0;) task(i);
              }).ok());
  EXPECT_GT(calls, 0);
  const std::vector<int64_t> places = testing::FirstPlaces(x, 300);
  EXPECT_TRUE(std::equal(indices.begin(), indices.end(), places.begin()));
}

// Up to 2^28 elements: COMMSCHED_LARGE_TESTS=1, 4 GiB of memory.
TEST(TopKTest, HugeArrays) {
  if (std::getenv("COMMSCHED_LARGE_TESTS") == nullptr)
    GTEST_SKIP() << "COMMSCHED_LARGE_TESTS is not set";
  for (int power : {20, 24, 28})
    for (Data data : {Data::kNormal, Data::kTied, Data::kAscending, Data::kConstant}) {
      const int64_t size = (int64_t{1} << power) - (power == 24 ? 5 : 0);
      const Array x = MakeArray(Element::kF32, data, size, 17);
      // Magnitudes in descending order, by counting how many of each come before.
      for (int64_t k : {int64_t{1}, size / 1000, size / 100})
        for (TopKMethod method : {TopKMethod::kHistogram, TopKMethod::kSampled}) {
          const TopKProblem problem = Problem(Element::kF32, size, k, method);
          SCOPED_TRACE(Describe(problem));
          std::vector<uint32_t> magnitudes(static_cast<size_t>(size));
          for (int64_t i = 0; i < size; ++i) magnitudes[size_t(i)] = x.magnitude(i);
          std::nth_element(magnitudes.begin(), magnitudes.begin() + (k - 1), magnitudes.end(),
                           std::greater<uint32_t>());
          const uint32_t kth = magnitudes[size_t(k - 1)];
          int64_t ties = k;
          for (int64_t i = 0; i < size; ++i) ties -= x.magnitude(i) > kth;
          std::vector<int64_t> places;
          for (int64_t i = 0; i < size; ++i)
            if (x.magnitude(i) > kth || (x.magnitude(i) == kth && ties-- > 0)) places.push_back(i);
          ExpectSelected(Select(problem, x, nullptr, Feedback::kNone), x, places, false);
        }
    }
}

}  // namespace
}  // namespace commsched
