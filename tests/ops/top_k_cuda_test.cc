// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA kernels of selections, on a device or emulated, against the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "ops/sparse/selection.h"
#include "tests/ops/cuda_machine.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

namespace cuda = ops::sparse::cuda;
using ops::Element;
using ops::sparse::TopKMethod;
using testing::Array;
using testing::CudaMachine;
using testing::Data;

struct TopKCase {
  Data data;
  int64_t size, k;
  bool feedback = false;
  int64_t not_finite = -1;  // this element
  int misleading = 0;       // what the sample looks at is larger than the rest, or smaller: -1
  int64_t shift = 0;        // in memory, elements behind an aligned address
  int64_t candidates = 0;   // if not 0, so many will be found
  int64_t alike = 0;        // so many are the largest, and nearly equal
};

void Mislead(Array *x, float factor) {
  const int64_t stretch = x->size() / cuda::kSampleLines;
  for (int64_t line = 0; line < cuda::kSampleLines; ++line) {
    const int64_t at = cuda::SampleAt(uint32_t(line), stretch);
    for (int64_t i = at; i < at + cuda::kLine; ++i) x->Set(i, (*x)[i] * factor);
  }
}

// `candidates` elements are not below the threshold that the sample gives: of it as many as
// make that, and others.
void SetCandidates(Array *x, int64_t k, int64_t candidates) {
  cuda::Array array;
  array.size = x->size();
  array.k = k;
  const int64_t rank = cuda::LayOut({array}, TopKMethod::kExact, nullptr).items[0].low_rank;
  const int64_t stretch = x->size() / cuda::kSampleLines;
  std::vector<bool> is_sampled(size_t(x->size()));
  for (uint32_t line = 0; line < cuda::kSampleLines; ++line)
    for (int i = 0; i < cuda::kLine; ++i) is_sampled[size_t(cuda::SampleAt(line, stretch) + i)] = true;
  int64_t sampled = rank, others = candidates - rank;
  for (int64_t i = 0; i < x->size(); ++i) {
    int64_t &left = is_sampled[size_t(i)] ? sampled : others;
    x->Set(i, left > 0 ? 8 : (*x)[i] / 16);
    --left;
  }
}

// Equal bits, or NaN of any bits: a device has its own.
bool SameNumbers(const Array &a, const Array &b) {
  for (int64_t i = 0; i < a.size(); ++i)
    if (a.bits(i) != b.bits(i) && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

// Selects from all cases in one batch, and compares each with the CPU. `twice`: the
// second run of the graph.
void CheckBatch(CudaMachine *machine, Element element, Element index,
                const std::vector<TopKCase> &cases, const cuda::TopKOptions &options = {},
                bool twice = false) {
  const size_t width = ops::ElementBytes(element), index_width = ops::ElementBytes(index);
  std::vector<Array> inputs, residuals;
  std::vector<cuda::Array> arrays;
  for (const TopKCase &c : cases) {
    inputs.push_back(MakeArray(element, c.data, c.size, 2 * inputs.size() + 1));
    if (c.not_finite >= 0) inputs.back().Set(c.not_finite, c.not_finite % 2 ? NAN : -INFINITY);
    if (c.misleading != 0) Mislead(&inputs.back(), c.misleading > 0 ? 1e5f : 1e-5f);
    if (c.candidates != 0) SetCandidates(&inputs.back(), c.k, c.candidates);
    for (int64_t j = 0; j < c.alike; ++j)
      inputs.back().set_bits(j * 101 % c.size, 0x42000000 + uint32_t(j % 3));
    residuals.push_back(MakeArray(element, Data::kHeavyTail, c.size, 2 * inputs.size()));
    const auto copy = [&](const Array &x) {
      auto *to = static_cast<std::byte *>(machine->Allocate(size_t(c.size + c.shift) * width)) +
                 size_t(c.shift) * width;
      machine->Write(to, x.data(), size_t(c.size) * width);
      return to;
    };
    cuda::Array array;
    array.x = copy(inputs.back());
    if (c.feedback) array.residual = array.sum = copy(residuals.back());
    array.values = machine->Allocate(size_t(c.k) * width);
    array.indices = machine->Allocate(size_t(c.k) * index_width);
    array.size = c.size;
    array.k = c.k;
    arrays.push_back(array);
  }
  const auto restore = [&] {
    for (size_t i = 0; i < cases.size(); ++i)
      if (cases[i].feedback)
        machine->Write(arrays[i].sum, residuals[i].data(), size_t(cases[i].size) * width);
  };
  const std::vector<ops::sparse::NonFinite> found =
      machine->TopK(element, index, arrays, options,
                    twice ? std::function<void()>(restore) : nullptr);
  EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty());
  for (size_t i = 0; i < cases.size(); ++i) {
    const TopKCase &c = cases[i];
    SCOPED_TRACE(absl::StrCat(ops::ElementName(element), " method ", int(options.method), " steps ",
                              options.steps, " data ", int(c.data), " size ", c.size, " k ", c.k,
                              " feedback ", c.feedback));
    ops::sparse::TopKProblem problem;
    problem.element = element;
    problem.index = Element::kI64;
    problem.size = c.size;
    problem.k = c.k;
    problem.method = options.method;
    problem.steps = options.steps;
    problem.seed = options.seed;
    problem.stop_early = options.stop_early;
    const testing::Selected wanted =
        Select(problem, inputs[i], c.feedback ? &residuals[i] : nullptr,
               testing::Feedback::kInPlace);
    EXPECT_EQ(found[i].count, wanted.non_finite.count);
    if (c.feedback) {
      Array sum(element, c.size);
      machine->Read(sum.data(), arrays[i].sum, size_t(c.size) * width);
      EXPECT_TRUE(SameNumbers(sum, wanted.residual));
    }
    if (!wanted.status.ok()) {
      EXPECT_EQ(found[i].first, wanted.non_finite.first);
      continue;
    }
    if (options.method != TopKMethod::kMsTopK) {
      const Array all = c.feedback ? Add(residuals[i], inputs[i]) : inputs[i];
      ASSERT_EQ(wanted.places, FirstPlaces(all, c.k));
    }
    Array values(element, c.k);
    machine->Read(values.data(), arrays[i].values, size_t(c.k) * width);
    ASSERT_TRUE(values == wanted.values);
    std::vector<std::byte> indices(size_t(c.k) * index_width + 1);
    machine->Read(indices.data(), arrays[i].indices, size_t(c.k) * index_width);
    for (size_t j = 0; j < wanted.places.size(); ++j) {
      int64_t at = 0;  // little-endian
      std::memcpy(&at, indices.data() + j * index_width, index_width);
      ASSERT_EQ(at, wanted.places[j]) << "at " << j;
    }
  }
}

// `large`: also what the types have in common.
std::vector<TopKCase> Cases(bool large) {
  std::vector<TopKCase> cases = {{Data::kNormal, 0, 0},
                                 {Data::kNormal, 1, 1},
                                 {Data::kNormal, 70001, 0, true},
                                 {Data::kNormal, 70001, 70, true},
                                 {Data::kNormal, 70001, 70001},
                                 {Data::kNormal, 200000, 200, true},
                                 {Data::kNormal, 100, 10, true, 57},
                                 {Data::kNormal, 200000, 20, true, 131072},
                                 {Data::kNormal, 70001, 20, false, 70000}};
  for (Data data : testing::kAllData) {
    cases.push_back({data, 5000, 50, true});
    if (large) cases.push_back({data, 5000, 4999});
    cases.push_back({data, 70003, 140});
  }
  if (!large) return cases;
  // Candidates that do not fit, and too few of them.
  cases.push_back({Data::kConstant, 300000, 300});
  cases.push_back({Data::kClusters, 300000, 3000, true});
  return cases;
}

class TopKCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    machine_ = testing::MakeCudaMachine();
    if (machine_ == nullptr) GTEST_SKIP() << "no CUDA device";
  }
  void TearDown() override { EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty()); }
  std::unique_ptr<CudaMachine> machine_;
};

TEST_F(TopKCudaTest, ExactF32) {
  CheckBatch(machine_.get(), Element::kF32, Element::kI32, Cases(true));
}
TEST_F(TopKCudaTest, ExactF16) {
  CheckBatch(machine_.get(), Element::kF16, Element::kI64, Cases(false));
}
TEST_F(TopKCudaTest, ExactBF16) {
  CheckBatch(machine_.get(), Element::kBF16, Element::kI32, Cases(false));
}

TEST_F(TopKCudaTest, SamplesThatMisjudgeAreRepaired) {
  const cuda::TopKOptions sampled{TopKMethod::kSampled};
  CheckBatch(machine_.get(), Element::kF32, Element::kI32,
             {{Data::kNormal, 200000, 200, true}, {Data::kHeavyTail, 100000, 1000}}, sampled);
  EXPECT_EQ(machine_->Repaired(), 0);
  CheckBatch(machine_.get(), Element::kF32, Element::kI32,
             {{Data::kNormal, 300000, 3000, true, -1, 1},
              {Data::kNormal, 100000, 100},
              {Data::kNormal, 70000, 2000, false, -1, 1}},
             sampled);
  EXPECT_EQ(machine_->Repaired(), 2);
}

// Whatever the sizes, the numbers, where they lie in memory, and what the sample sees.
TEST_F(TopKCudaTest, AnyArrays) {
  std::mt19937 random(20);
  const auto draw = [&random](int64_t n) { return int64_t(random() % uint64_t(n)); };
  constexpr int64_t kSizes[] = {0, 1, 2, 31, 33, 127, 128, 1023, 1024,
                                1025, 8191, 8193, 16385, 32767, 65535, 65536, 65537, 98304};
  for (int round = 0; round < 9; ++round) {
    std::vector<TopKCase> cases;
    for (int i = 0; i < 6; ++i) {
      TopKCase c{testing::kAllData[draw(std::size(testing::kAllData))],
                 kSizes[draw(std::size(kSizes))], 0, draw(3) == 0};
      const int64_t ks[] = {0, 1, c.size - 1, c.size, c.size / 1000, draw(c.size + 1)};
      c.k = std::clamp<int64_t>(ks[draw(std::size(ks))], 0, c.size);
      c.shift = draw(2) == 0 ? draw(9) : 0;
      if (c.size > 0 && draw(10) == 0) c.not_finite = draw(c.size);
      if (c.size >= 65536) c.misleading = int(draw(3)) - 1;
      cases.push_back(c);
    }
    const Element elements[] = {Element::kF32, Element::kF16, Element::kBF16};
    CheckBatch(machine_.get(), elements[round % 3], round % 2 ? Element::kI64 : Element::kI32,
               cases, {round % 4 == 3 ? TopKMethod::kHistogram : TopKMethod::kExact});
  }
}

// More equal ones than may be listed, at the edges of what may.
TEST_F(TopKCudaTest, FewAndMany) {
  for (int64_t alike : {255, 256, 257, 600}) {
    std::vector<TopKCase> cases;
    for (int64_t k : {int64_t{1}, alike - 1, alike, alike + 1})
      cases.push_back({Data::kNormal, 70001, k, false, -1, 0, 0, 0, alike});
    CheckBatch(machine_.get(), Element::kF32, Element::kI32, cases);
  }
}

// Exactly as many candidates as are wanted, and one too few.
TEST_F(TopKCudaTest, CandidatesThatAreJustEnough) {
  for (int missing : {0, 1}) {
    TopKCase c{Data::kNormal, 70001, 3000};
    c.candidates = c.k - missing;
    CheckBatch(machine_.get(), Element::kF32, Element::kI32, {c});
    EXPECT_EQ(machine_->Repaired(), missing);
  }
}

TEST_F(TopKCudaTest, RunsAgain) {
  const std::vector<TopKCase> cases = {{Data::kNormal, 100000, 100, true},
                                       {Data::kTied, 70001, 3000},
                                       {Data::kNormal, 70001, 20, true, 70000},
                                       {Data::kNormal, 70000, 2000, true, -1, 1}};
  for (TopKMethod method : {TopKMethod::kExact, TopKMethod::kHistogram, TopKMethod::kMsTopK})
    CheckBatch(machine_.get(), Element::kF32, Element::kI32, cases, {method}, true);
}

TEST_F(TopKCudaTest, RefusesWhatItCannotDo) {
  void *scratch = machine_->Allocate(1 << 20);
  const auto make = [&](Element element, Element index, int64_t size, int64_t k, int steps = 30) {
    cuda::Array array;
    array.size = size;
    array.k = k;
    cuda::TopKOptions options;
    options.steps = steps;
    return std::string(
        cuda::TopKBatch::Make(element, index, {array}, scratch, options).status().message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(make(Element::kI32, Element::kI32, 9, 1), HasSubstr("f32, f16 or bf16, got: i32"));
  EXPECT_THAT(make(Element::kF32, Element::kF32, 9, 1), HasSubstr("i32 or i64, got: f32"));
  EXPECT_THAT(make(Element::kF32, Element::kI32, 9, 10), HasSubstr("k must be 0 to 9, got: 10"));
  EXPECT_THAT(make(Element::kF32, Element::kI64, (int64_t{1} << 31) + 1, 1),
              HasSubstr("0 to 2^31, got: 2147483649"));
  EXPECT_THAT(make(Element::kF32, Element::kI32, 9, 1, 0), HasSubstr("steps must be 1 to 100"));
  // Nothing to select from at all.
  auto empty = cuda::TopKBatch::Make(Element::kF32, Element::kI32, {}, scratch);
  ASSERT_TRUE(empty.ok());
  ASSERT_TRUE(empty->Run(nullptr).ok());
  EXPECT_TRUE(empty->Wait(nullptr)->empty());
}

TEST_F(TopKCudaTest, Histogram) {
  for (Element element : {Element::kF32, Element::kBF16})
    CheckBatch(machine_.get(), element, Element::kI64,
               {{Data::kNormal, 70001, 70, true},
                {Data::kTied, 5000, 50},
                {Data::kNormal, 100000, 99999}},
               {TopKMethod::kHistogram});
}

TEST_F(TopKCudaTest, MsTopK) {
  std::vector<TopKCase> cases = {{Data::kNormal, 0, 0},
                                 {Data::kNormal, 1, 1},
                                 {Data::kNormal, 4000, 0, true},
                                 {Data::kNormal, 40000, 40, true},
                                 {Data::kHeavyTail, 4000, 4000},
                                 {Data::kNormal, 100, 10, true, 57},
                                 {Data::kNormal, 40000, 20, true, 36000}};
  for (Data data : testing::kAllData) {
    cases.push_back({data, 3000, 30, true});
    cases.push_back({data, 3001, 2000});
  }
  for (Element element : {Element::kF32, Element::kF16, Element::kBF16})
    for (bool stop_early : {false, true}) {
      cuda::TopKOptions options{TopKMethod::kMsTopK};
      options.steps = stop_early ? 30 : 11;
      options.stop_early = stop_early;
      options.seed = 4711;
      CheckBatch(machine_.get(), element,
                 element == Element::kF32 ? Element::kI32 : Element::kI64, cases, options);
    }
}
TEST_F(TopKCudaTest, MsTopKOfManyGroups) {
  cuda::TopKOptions options{TopKMethod::kMsTopK};
  options.stop_early = true;
  for (int steps : {1, 7}) {
    options.steps = steps;
    CheckBatch(machine_.get(), Element::kF32, Element::kI32,
               {{Data::kHeavyTail, 34 * 32768 + 5, 1300, true}}, options);
  }
}

}  // namespace
}  // namespace commsched
