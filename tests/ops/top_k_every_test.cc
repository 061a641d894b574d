// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thresholds that serve for several steps, against sorting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ops/sparse/top_k.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

using ops::Element;
using ops::sparse::ThresholdState;
using ops::sparse::TopKMethod;
using ops::sparse::TopKProblem;
using testing::Array;
using testing::Data;
using testing::Feedback;
using ::testing::HasSubstr;
using testing::Selected;

constexpr Element kElements[] = {Element::kF32, Element::kF16, Element::kBF16};

TopKProblem Problem(Element element, Element index, int64_t size, int64_t k, int threads = 1) {
  TopKProblem problem;
  problem.element = element;
  problem.index = index;
  problem.size = size;
  problem.k = k;
  problem.threads = threads;
  return problem;
}

// What one step is to do, in the words of the description.
struct Step {
  std::vector<int64_t> places;
  int64_t above = 0;  // how many are not below the threshold that was used; all if exact
  ThresholdState next;
};
Step StepBySorting(const Array &sum, int64_t k, int64_t every, const ThresholdState &state) {
  const bool exact = state.age == 0 || state.magnitude == 0;
  Step step;
  for (int64_t i = 0; i < sum.size(); ++i)
    if (exact || std::fabs(sum[i]) >= state.magnitude) step.places.push_back(i);
  step.above = int64_t(step.places.size());
  std::stable_sort(step.places.begin(), step.places.end(), [&](int64_t a, int64_t b) {
    return std::fabs(sum[a]) > std::fabs(sum[b]);
  });
  step.places.resize(size_t(std::min(k, step.above)));
  step.next = state;
  if (exact) step.next.magnitude = k == 0 ? 0 : std::fabs(sum[step.places.back()]);
  step.next.age = state.age + 1 == float(every) ? 0 : state.age + 1;
  std::sort(step.places.begin(), step.places.end());
  return step;
}

void ExpectStep(const Selected &got, const Array &sum, int64_t k, const Step &want) {
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_FALSE(got.damaged);
  EXPECT_EQ(got.next.magnitude, want.next.magnitude);
  EXPECT_EQ(got.next.age, want.next.age);
  Array rest = sum;
  std::vector<int64_t> places = want.places;
  places.resize(size_t(k), -1);
  ASSERT_EQ(got.places, places);
  for (int64_t i = 0; i < k; ++i) {
    const int64_t place = places[size_t(i)];
    ASSERT_EQ(got.values.bits(i), place < 0 ? 0u : sum.bits(place)) << i;
    if (place >= 0) rest.set_bits(place, 0);
  }
  ASSERT_TRUE(got.residual == rest);
}

Array Scaled(Array x, float scale) {
  for (int64_t i = 0; i < x.size(); ++i) x.Set(i, x[i] * scale);
  return x;
}

// Gradients that shrink and grow leave fewer and more than k above a threshold of
// before.
constexpr float kScales[] = {1, 0.25, 1, 8, 0.5, 0.03125, 0, 2, 16, 1};

class TopKEveryTest : public ::testing::TestWithParam<std::tuple<Element, Data>> {};

TEST_P(TopKEveryTest, DoesTheSameAsSorting) {
  const auto [element, data] = GetParam();
  for (Element index : {Element::kI32, Element::kI64})
    for (auto [size, k] : {std::pair<int64_t, int64_t>{1, 1},
                           {67, 0},
                           {67, 5},
                           {67, 67},
                           {3000, 40},
                           {20000, 150}})
      for (int64_t every : {1, 2, 3, 7}) {
        // The largest is there for samples, which smaller ones do without.
        if (size == 20000 && (every != 3 || index == Element::kI64)) continue;
        SCOPED_TRACE(absl::StrCat("size ", size, " k ", k, " every ", every));
        const TopKProblem problem = Problem(element, index, size, k);
        Array residual(element, size);
        ThresholdState state;
        int64_t fewer = 0, more = 0, number = 0;
        for (float scale : kScales) {
          const Array x = Scaled(MakeArray(element, data, size, uint64_t(++number)), scale);
          const Array sum = testing::Add(x, residual);
          const Step want = StepBySorting(sum, k, every, state);
          const Feedback feedback = number % 2 ? Feedback::kInPlace : Feedback::kApart;
          const Selected got = SelectEvery(problem, every, state, x, &residual, feedback);
          ExpectStep(got, sum, k, want);
          if (HasFatalFailure()) return;
          fewer += want.above < k;
          more += want.above > k && state.age != 0;
          residual = got.residual;
          state = got.next;
        }
        // Otherwise the scales above are badly chosen.
        if (data == Data::kNormal && size >= 3000 && every == 7) {
          EXPECT_GT(fewer, 0);
          EXPECT_GT(more, 0);
        }
      }
}

TEST_P(TopKEveryTest, ThreadsDoNotMatter) {
  const auto [element, data] = GetParam();
  const int64_t size = 140003, k = 700;  // two parts
  Array residual(element, size);
  ThresholdState state;
  int64_t number = 0;
  for (float scale : {1.0f, 0.5f, 8.0f}) {
    const Array x = Scaled(MakeArray(element, data, size, uint64_t(++number)), scale);
    const Array sum = testing::Add(x, residual);
    const Step want = StepBySorting(sum, k, 4, state);
    for (int threads : {1, 2}) {
      const TopKProblem problem = Problem(element, Element::kI32, size, k, threads);
      const Selected got = SelectEvery(problem, 4, state, x, &residual, Feedback::kApart);
      ExpectStep(got, sum, k, want);
      if (HasFatalFailure()) return;
      if (threads == 1) continue;
      residual = got.residual;
      state = got.next;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TopKEveryTest,
                         ::testing::Combine(::testing::ValuesIn(kElements),
                                            ::testing::Values(Data::kNormal, Data::kTied,
                                                              Data::kConstant, Data::kZero,
                                                              Data::kClusters)),
                         [](const auto &info) {
                           return absl::StrCat(ops::ElementName(std::get<0>(info.param)), "_",
                                               int(std::get<1>(info.param)));
                         });

TEST(TopKEveryTest, ThresholdIsTheSmallestThatAnyMethodSelects) {
  for (TopKMethod method : {TopKMethod::kExact, TopKMethod::kHistogram, TopKMethod::kSampled,
                            TopKMethod::kMsTopK})
    for (Element element : kElements) {
      const Array x = MakeArray(element, Data::kNormal, 20000, 3), zero(element, 20000);
      TopKProblem problem = Problem(element, Element::kI32, 20000, 100);
      problem.method = method;
      problem.steps = 4;
      const Selected got = SelectEvery(problem, 5, {}, x, &zero, Feedback::kApart);
      ASSERT_TRUE(got.status.ok()) << got.status;
      float least = INFINITY;
      for (int64_t i = 0; i < 100; ++i) least = std::min(least, std::fabs(got.values[i]));
      EXPECT_EQ(got.next.magnitude, least);
      EXPECT_EQ(got.next.age, 1);
    }
}

// A checkpoint may have been changed, be of another plan, or have a mean of ranks.
TEST(TopKEveryTest, StatesThatDoNotFitSelectExactly) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  Array x(Element::kF32, 4);
  const Array zero(Element::kF32, 4);
  for (int64_t i = 0; i < 4; ++i) x.Set(i, float(i + 1));
  struct Case {
    ThresholdState state, next;
    std::vector<int64_t> places;
  };
  const Case cases[] = {
      // The threshold is no number that selects: the clock goes on.
      {{0, 1}, {2, 2}, {1, 2, 3}},
      {{-1, 2}, {2, 3}, {1, 2, 3}},
      {{kNan, 2}, {2, 3}, {1, 2, 3}},
      {{INFINITY, 3}, {2, 0}, {1, 2, 3}},
      // The age is not one of this plan.
      {{3, 0}, {2, 1}, {1, 2, 3}},
      {{3, 4}, {2, 1}, {1, 2, 3}},
      {{3, 1e30f}, {2, 1}, {1, 2, 3}},
      {{3, -1}, {2, 1}, {1, 2, 3}},
      {{3, kNan}, {2, 1}, {1, 2, 3}},
      {{3, 3.75f}, {2, 1}, {1, 2, 3}},
      // They are good.
      {{3, 1}, {3, 2}, {2, 3, -1}},
      {{3, 2.25f}, {3, 3}, {2, 3, -1}},
      {{3, 3}, {3, 0}, {2, 3, -1}},
      {{5, 1}, {5, 2}, {-1, -1, -1}},
      {{1e-40f, 1}, {1e-40f, 2}, {1, 2, 3}},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(absl::StrCat(c.state.magnitude, ", ", c.state.age));
    const Selected got = SelectEvery(Problem(Element::kF32, Element::kI64, 4, 3), 4, c.state, x,
                                     &zero, Feedback::kApart);
    ASSERT_TRUE(got.status.ok()) << got.status;
    EXPECT_EQ(got.places, c.places);
    EXPECT_EQ(got.next.magnitude, c.next.magnitude);
    EXPECT_EQ(got.next.age, c.next.age);
  }
}

TEST(TopKEveryTest, RefusesWhatIsNotFinite) {
  for (Element element : kElements) {
    Array x = MakeArray(element, Data::kNormal, 1000, 9);
    const Array zero(element, 1000);
    x.Set(17, -INFINITY);
    for (float age : {0.0f, 1.0f}) {
      const Selected got = SelectEvery(Problem(element, Element::kI32, 1000, 10), 2, {1, age}, x,
                                       &zero, Feedback::kInPlace);
      EXPECT_EQ(got.status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(got.status.message()),
                  HasSubstr("1 of 1000 elements to select from are NaN or infinite, the first is "
                            "element 17"));
      EXPECT_EQ(got.non_finite.first, 17);
    }
  }
}

}  // namespace
}  // namespace commsched
