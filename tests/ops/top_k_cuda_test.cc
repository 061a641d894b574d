// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA kernels, emulated, against the CPU's: what they compute, not that they
// run on a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/sparse/cuda/top_k_tables.h"
#include "tests/ops/sparse_data.h"
// What the kernels use comes first.
#include "tests/ops/cuda_emulation.h"

#include "ops/sparse/cuda/top_k_kernels.cuh"

namespace commsched {
namespace {

namespace cuda = ops::sparse::cuda;
using ops::Element;
using testing::Array;
using testing::Data;

struct Case {
  Data data;
  int64_t size, k;
  bool feedback = false;
  int64_t not_finite = -1;  // this element
};

// A batch in one run.
class Batch {
 public:
  Batch(Element element, Element index, const std::vector<Case> &cases)
      : element_(element), index_(index), cases_(cases) {
    uint64_t seed = 0;
    for (const Case &c : cases) {
      inputs_.push_back(MakeArray(element, c.data, c.size, ++seed));
      if (c.not_finite >= 0) inputs_.back().Set(c.not_finite, -INFINITY);
      residuals_.push_back(MakeArray(element, Data::kHeavyTail, c.size, ++seed));
      values_.push_back(Array(element, c.k));
      indices_.emplace_back(size_t(c.k) * ops::ElementBytes(index) + 1);
    }
    sums_ = residuals_;
  }

  template <class F>
  void Run() {
    std::vector<cuda::Array> arrays;
    for (size_t i = 0; i < cases_.size(); ++i) {
      cuda::Array array;
      array.x = inputs_[i].data();
      if (cases_[i].feedback) array.residual = array.sum = sums_[i].data();
      array.values = values_[i].data();
      array.indices = indices_[i].data();
      array.size = cases_[i].size;
      array.k = cases_[i].k;
      arrays.push_back(array);
    }
    scratch_.assign(cuda::LayOut(arrays, nullptr).bytes + 64, std::byte{0xa5});
    std::byte *scratch = scratch_.data() + 64 - uintptr_t(scratch_.data()) % 64;
    const cuda::Tables tables = cuda::LayOut(arrays, scratch);
    auto *states = reinterpret_cast<cuda::State *>(scratch + tables.states_at);
    std::memset(static_cast<void *>(states), 0, arrays.size() * sizeof(cuda::State));
    const auto launch = [](auto kernel, unsigned blocks, unsigned threads, auto... arguments) {
      testing::cuda::Launch(blocks, threads, [&] { kernel(arguments...); });
    };
    if (index_ == Element::kI32)
      cuda::Enqueue<F, int32_t>(tables.items.data(), states, tables.group_item.data(),
                                uint32_t(arrays.size()), uint32_t(tables.group_item.size()),
                                launch);
    else
      cuda::Enqueue<F, int64_t>(tables.items.data(), states, tables.group_item.data(),
                                uint32_t(arrays.size()), uint32_t(tables.group_item.size()),
                                launch);
    for (size_t i = 0; i < cases_.size(); ++i) Check(i, states[i]);
  }

 private:
  void Check(size_t i, const cuda::State &state) {
    const Case &c = cases_[i];
    SCOPED_TRACE(absl::StrCat(ops::ElementName(element_), " data ", int(c.data), " size ", c.size,
                              " k ", c.k, " feedback ", c.feedback));
    ops::sparse::TopKProblem problem;
    problem.element = element_;
    problem.index = Element::kI64;
    problem.size = c.size;
    problem.k = c.k;
    const testing::Selected wanted = Select(
        problem, inputs_[i], c.feedback ? &residuals_[i] : nullptr, testing::Feedback::kInPlace);
    EXPECT_EQ(int64_t(state.non_finite), wanted.non_finite.count);
    if (c.feedback) {
      EXPECT_TRUE(sums_[i] == wanted.residual);
    }
    if (!wanted.status.ok()) {
      EXPECT_EQ(int64_t(~state.first_inverted), wanted.non_finite.first);
      return;
    }
    ASSERT_TRUE(values_[i] == wanted.values);
    for (size_t j = 0; j < wanted.places.size(); ++j) {
      int64_t index = 0;
      if (index_ == Element::kI32) {
        int32_t narrow = 0;
        std::memcpy(&narrow, indices_[i].data() + 4 * j, 4);
        index = narrow;
      } else {
        std::memcpy(&index, indices_[i].data() + 8 * j, 8);
      }
      ASSERT_EQ(index, wanted.places[j]) << "at " << j;
    }
  }

  const Element element_, index_;
  const std::vector<Case> cases_;
  std::vector<Array> inputs_, residuals_, sums_, values_;
  std::vector<std::vector<std::byte>> indices_;
  std::vector<std::byte> scratch_;
};

// `large`: also what the types have in common.
std::vector<Case> Cases(bool large) {
  std::vector<Case> cases = {{Data::kNormal, 0, 0},
                             {Data::kNormal, 1, 1},
                             {Data::kNormal, 70001, 0, true},
                             {Data::kNormal, 70001, 70, true},
                             {Data::kNormal, 70001, 70001},
                             {Data::kNormal, 200000, 200, true},
                             {Data::kNormal, 100, 10, true, 57},
                             {Data::kNormal, 200000, 20, true, 131072}};
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

TEST(TopKCudaTest, F32) { Batch(Element::kF32, Element::kI32, Cases(true)).Run<cuda::DeviceF32>(); }
TEST(TopKCudaTest, F16) {
  Batch(Element::kF16, Element::kI64, Cases(false)).Run<cuda::DeviceF16>();
}
TEST(TopKCudaTest, BF16) {
  Batch(Element::kBF16, Element::kI32, Cases(false)).Run<cuda::DeviceBF16>();
}

}  // namespace
}  // namespace commsched
