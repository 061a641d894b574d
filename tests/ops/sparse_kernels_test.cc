// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/sparse/kernels.h"
#include "tests/ops/kernel_tester.h"

namespace commsched {
namespace {

using ops::Element;
using ops::KernelDesc;
using testing::Dense;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Element F = Element::kF32, I = Element::kI32, L = Element::kI64;

absl::Status RunKernel(const KernelDesc &desc, std::vector<void *> operands) {
  ops::PrepareComputeThread();
  auto kernel = ops::MakeKernel(desc);
  if (!kernel.ok()) return kernel.status();
  std::vector<std::byte> scratch((*kernel)->scratch_bytes() + 64);
  void *aligned = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
  return (*kernel)->Run(operands.data(), aligned);
}

TEST(SparseKernelsTest, TopK) {
  std::vector<float> x = {1, -5, 3, 5, -3, 0}, values(3);
  std::vector<int32_t> indices(3);
  KernelDesc desc{"top_k", {Dense(F, {6}), Dense(F, {3}), Dense(I, {3})}, {}, false};
  for (int64_t method = 0; method < 3; ++method) {
    desc.attributes["method"] = {method};
    ASSERT_TRUE(RunKernel(desc, {x.data(), values.data(), indices.data()}).ok());
    EXPECT_THAT(values, ElementsAre(-5, 3, 5)) << method;
    EXPECT_THAT(indices, ElementsAre(1, 2, 3)) << method;
  }
  x[4] = NAN, x[5] = INFINITY;
  absl::Status s = RunKernel(desc, {x.data(), values.data(), indices.data()});
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(s.message()), HasSubstr("2 of 6 elements to select from are NaN or "
                                                  "infinite, the first is element 4"));
}

TEST(SparseKernelsTest, TopKWithFeedback) {
  std::vector<float> g = {1, 0, 3, 1}, r = {0, -2, 1, 2}, values(2), next(4);
  std::vector<int64_t> indices(2);
  KernelDesc desc{"top_k_feedback",
                  {Dense(F, {4}), Dense(F, {4}), Dense(F, {2}), Dense(L, {2}), Dense(F, {4})},
                  {},
                  false};
  ASSERT_TRUE(
      RunKernel(desc, {g.data(), r.data(), values.data(), indices.data(), next.data()}).ok());
  EXPECT_THAT(values, ElementsAre(4, 3));
  EXPECT_THAT(indices, ElementsAre(2, 3));
  EXPECT_THAT(next, ElementsAre(1, -2, 0, 0));
  ASSERT_TRUE(RunKernel(desc, {g.data(), r.data(), values.data(), indices.data(), r.data()}).ok());
  EXPECT_THAT(r, ElementsAre(1, -2, 0, 0));
}

TEST(SparseKernelsTest, SelectAbove) {
  std::vector<float> g = {1, 0, 3, 1}, r = {0, -2, 1, 2}, next(4), values(3), threshold = {3};
  std::vector<int32_t> indices(3);
  int64_t count = 0;
  KernelDesc desc{"select_above",
                  {Dense(F, {4}), Dense(F, {1}), Dense(F, {3}), Dense(I, {3}), Dense(L, {1})},
                  {},
                  false};
  ASSERT_TRUE(
      RunKernel(desc, {g.data(), threshold.data(), values.data(), indices.data(), &count}).ok());
  EXPECT_EQ(count, 1);
  EXPECT_THAT(values, ElementsAre(3, 0, 0));
  EXPECT_THAT(indices, ElementsAre(2, -1, -1));
  desc = {"select_above_feedback",
          {Dense(F, {4}), Dense(F, {4}), Dense(F, {1}), Dense(F, {3}), Dense(I, {3}), Dense(L, {1}),
           Dense(F, {4})},
          {},
          false};
  ASSERT_TRUE(RunKernel(desc, {g.data(), r.data(), threshold.data(), values.data(), indices.data(),
                               &count, next.data()})
                  .ok());
  EXPECT_EQ(count, 2);
  EXPECT_THAT(indices, ElementsAre(2, 3, -1));
  EXPECT_THAT(next, ElementsAre(1, -2, 0, 0));
}

TEST(SparseKernelsTest, TopKEvery) {
  std::vector<float> g = {1, 0, 3, 1}, r = {0, -2, 1, 2}, state = {0, 0}, values(2);
  std::vector<int64_t> indices(2);
  KernelDesc desc{"top_k_every",
                  {Dense(F, {4}), Dense(F, {4}), Dense(F, {2}), Dense(F, {2}), Dense(L, {2}),
                   Dense(F, {4}), Dense(F, {2})},
                  {{"every", {3}}},
                  false};
  const auto run = [&] {
    return RunKernel(desc, {g.data(), r.data(), state.data(), values.data(), indices.data(),
                            r.data(), state.data()});
  };
  ASSERT_TRUE(run().ok());
  EXPECT_THAT(indices, ElementsAre(2, 3));
  EXPECT_THAT(r, ElementsAre(1, -2, 0, 0));
  EXPECT_THAT(state, ElementsAre(3, 1));
  ASSERT_TRUE(run().ok());  // of 2, -2, 3, 1
  EXPECT_THAT(values, ElementsAre(3, 0));
  EXPECT_THAT(indices, ElementsAre(2, -1));
  EXPECT_THAT(r, ElementsAre(2, -2, 0, 1));
  EXPECT_THAT(state, ElementsAre(3, 2));
  g[1] = -3;
  ASSERT_TRUE(run().ok());  // of 3, -5, 3, 2: three are not below 3
  EXPECT_THAT(values, ElementsAre(3, -5));
  EXPECT_THAT(indices, ElementsAre(0, 1));
  EXPECT_THAT(r, ElementsAre(0, 0, 3, 2));
  EXPECT_THAT(state, ElementsAre(3, 0));
  ASSERT_TRUE(run().ok());  // of 1, -3, 6, 3
  EXPECT_THAT(indices, ElementsAre(1, 2));
  EXPECT_THAT(state, ElementsAre(3, 1));
  g[0] = NAN;
  EXPECT_EQ(run().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(state, ElementsAre(3, 1));
}

TEST(SparseKernelsTest, ScatterAdd) {
  std::vector<int32_t> indices = {0, 2, -1, 2};
  std::vector<float> values = {1, 2, 100, 4}, target = {1, 1, 1};
  KernelDesc desc{"scatter_add", {Dense(I, {4}), Dense(F, {4}), Dense(F, {3})}, {}, true};
  ASSERT_TRUE(RunKernel(desc, {indices.data(), values.data(), target.data()}).ok());
  EXPECT_THAT(target, ElementsAre(2, 1, 7));
  desc.accumulate = false;
  desc.attributes["denominator"] = {2};
  ASSERT_TRUE(RunKernel(desc, {indices.data(), values.data(), target.data()}).ok());
  EXPECT_THAT(target, ElementsAre(0.5, 0, 3));
  indices[1] = 3;
  absl::Status s = RunKernel(desc, {indices.data(), values.data(), target.data()});
  EXPECT_EQ(s.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(s.message()), HasSubstr("index 3 in place 1"));
}

TEST(SparseKernelsTest, ScatterClearOfRows) {
  std::vector<int32_t> indices = {2, -1};
  std::vector<float> target = {1, 2, 3, 4, 5, 6};
  KernelDesc desc{"scatter_clear", {Dense(I, {2}), Dense(F, {3, 2})}, {}, true};
  ASSERT_TRUE(RunKernel(desc, {indices.data(), target.data()}).ok());
  EXPECT_THAT(target, ElementsAre(1, 2, 3, 4, 0, 0));
}

TEST(SparseKernelsTest, ScatterAddOthers) {
  std::vector<int32_t> indices = {1, 2, 5, -1}, others = {2, 3, -1};
  std::vector<float> values = {1, 2, 3, 9}, target(6);
  KernelDesc desc{
      "scatter_add_others", {Dense(I, {4}), Dense(F, {4}), Dense(I, {3}), Dense(F, {6})}, {}, true};
  ASSERT_TRUE(RunKernel(desc, {indices.data(), values.data(), others.data(), target.data()}).ok());
  EXPECT_THAT(target, ElementsAre(0, 1, 0, 0, 0, 3));
  indices[0] = 4;
  EXPECT_EQ(RunKernel(desc, {indices.data(), values.data(), others.data(), target.data()}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SparseKernelsTest, MergeLists) {
  std::vector<int32_t> indices = {4, 1, -1, 4}, merged(4);
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8}, sums(8);
  KernelDesc desc{"merge_lists",
                  {Dense(I, {4}), Dense(F, {4, 2}), Dense(I, {4}), Dense(F, {4, 2})},
                  {{"denominator", {2}}},
                  false};
  ASSERT_TRUE(RunKernel(desc, {indices.data(), values.data(), merged.data(), sums.data()}).ok());
  EXPECT_THAT(merged, ElementsAre(1, 4, -1, -1));
  EXPECT_THAT(sums, ElementsAre(1.5, 2, 4, 5, 0, 0, 0, 0));
}

TEST(SparseKernelsTest, MergeTopK) {
  std::vector<int32_t> indices = {1, 4, 9, 0, 4, -1}, top(2);
  std::vector<float> values = {3, 2, -4, 1, 3, 100}, top_values(2);
  KernelDesc desc{
      "merge_top_k", {Dense(I, {6}), Dense(F, {6}), Dense(F, {2}), Dense(I, {2})}, {}, false};
  ASSERT_TRUE(RunKernel(desc, {indices.data(), values.data(), top_values.data(), top.data()}).ok());
  EXPECT_THAT(top, ElementsAre(4, 9));
  EXPECT_THAT(top_values, ElementsAre(5, -4));
}

TEST(SparseKernelsTest, QuantizeAndBack) {
  std::vector<float> values = {127, -63.6, 0.4, 0, 0, 2}, back(6), scales(3);
  std::vector<int8_t> codes(6);
  KernelDesc desc{"quantize",
                  {Dense(F, {6}), Dense(Element::kI8, {6}), Dense(F, {3})},
                  {{"block", {2}}},
                  false};
  ASSERT_TRUE(RunKernel(desc, {values.data(), codes.data(), scales.data()}).ok());
  EXPECT_THAT(codes, ElementsAre(127, -64, 127, 0, 0, 127));
  std::swap(desc.operands[0], desc.operands[2]);  // scales, codes, values
  std::swap(desc.operands[0], desc.operands[1]);
  desc.kind = "dequantize";
  ASSERT_TRUE(RunKernel(desc, {codes.data(), scales.data(), back.data()}).ok());
  EXPECT_FLOAT_EQ(back[1], -64);
  EXPECT_FLOAT_EQ(back[2], 0.4f);
  EXPECT_EQ(back[3], 0);
  EXPECT_FLOAT_EQ(back[5], 2);
}

TEST(SparseKernelsTest, WordsAndBack) {
  // Two rows of three: the fourth half of a row is 0, and is not read.
  std::vector<uint16_t> values = {1, 2, 3, 0xfff4, 5, 6}, back(6);
  std::vector<int32_t> words(4, -1);
  KernelDesc desc{"pack_words", {Dense(Element::kBF16, {6}), Dense(I, {4})}, {{"row", {3}}}, false};
  ASSERT_TRUE(RunKernel(desc, {values.data(), words.data()}).ok());
  EXPECT_THAT(words, ElementsAre(0x20001, 3, 0x5fff4, 6));
  words[1] |= 0x70000;
  std::swap(desc.operands[0], desc.operands[1]);
  desc.kind = "unpack_words";
  ASSERT_TRUE(RunKernel(desc, {words.data(), back.data()}).ok());
  EXPECT_EQ(back, values);
}

struct Refusal {
  KernelDesc desc;
  const char *message;
};

TEST(SparseKernelsTest, RefusesWhatDoesNotFit) {
  const std::vector<Refusal> refusals = {
      {{"top_k", {Dense(F, {6}), Dense(F, {3})}, {}, false}, "needs 3 operands, got: 2"},
      {{"top_k", {Dense(F, {6}), Dense(F, {7}), Dense(I, {7})}, {}, false},
       "k must be 0 to 6, got: 7"},
      {{"top_k", {Dense(F, {6}), Dense(F, {3}), Dense(I, {4})}, {}, false},
       "operands 1 and 2 must have the same dimensions, got: [3] and [4]"},
      {{"top_k", {Dense(F, {6}), Dense(Element::kF16, {3}), Dense(I, {3})}, {}, false},
       "operand 1 must be of type f32, got: f16"},
      {{"top_k", {Dense(F, {6}), Dense(F, {3}), Dense(F, {3})}, {}, false},
       "operand 2 must be of type i32 or i64, got: f32"},
      {{"top_k", {Dense(F, {6}), Dense(F, {3}), Dense(I, {3})}, {{"method", {4}}}, false},
       "method must be 0 to 3, got: 4"},
      {{"top_k", {Dense(F, {6}), Dense(F, {3}), Dense(I, {3})}, {{"speed", {4}}}, false},
       "unknown attribute \"speed\""},
      {{"top_k", {testing::Operand(F, {6}, {2}), Dense(F, {3}), Dense(I, {3})}, {}, false},
       "operand 0 must be dense, got strides: [2]"},
      {{"top_k", {Dense(F, {int64_t{1} << 32}), Dense(F, {3}), Dense(I, {3})}, {}, false},
       "i32 indices allow 2^31 elements"},
      {{"top_k_every",
        {Dense(F, {6}), Dense(F, {6}), Dense(F, {1}), Dense(F, {3}), Dense(I, {3}), Dense(F, {6}),
         Dense(F, {2})},
        {{"every", {2}}},
        false},
       "operand 2 must have the dimensions [2], got: [1]"},
      {{"top_k_every",
        {Dense(F, {6}), Dense(F, {6}), Dense(F, {2}), Dense(F, {3}), Dense(I, {3}), Dense(F, {6}),
         Dense(Element::kF16, {2})},
        {{"every", {2}}},
        false},
       "operand 6 must be of type f32, got: f16"},
      {{"top_k_every",
        {Dense(F, {6}), Dense(F, {6}), Dense(F, {2}), Dense(F, {3}), Dense(I, {3}), Dense(F, {6}),
         Dense(F, {2})},
        {},
        false},
       "every must be 1 to 16777216, got: 0"},
      {{"top_k", {Dense(F, {6}), Dense(F, {3}), Dense(I, {3})}, {{"every", {2}}}, false},
       "unknown attribute \"every\""},
      {{"scatter_add", {Dense(I, {6}), Dense(F, {3}), Dense(F, {9})}, {}, false},
       "as many rows as operand 0 has indices, 6, got: 3"},
      {{"scatter_add", {Dense(I, {6}), Dense(F, {6, 2}), Dense(F, {9, 3})}, {}, false},
       "rows of the same size, got: [6,2] and [9,3]"},
      {{"scatter_clear", {Dense(I, {6}), Dense(F, {9, 3})}, {}, false}, "must accumulate"},
      {{"quantize", {Dense(F, {6}), Dense(Element::kI8, {6})}, {}, false}, "i8 needs scales"},
      {{"quantize", {Dense(F, {6}), Dense(Element::kI8, {6}), Dense(F, {2})}, {}, false},
       "operand 2 must have the dimensions [1], got: [2]"},
      {{"pack_words", {Dense(Element::kF16, {6}), Dense(L, {4})}, {{"row", {3}}}, false},
       "operand 1 must be of type i32, got: i64"},
      {{"pack_words", {Dense(Element::kF16, {6}), Dense(I, {3})}, {{"row", {3}}}, false},
       "operand 1 must have the dimensions [4], got: [3]"},
      {{"unpack_words", {Dense(I, {4}), Dense(Element::kF16, {6})}, {{"row", {4}}}, false},
       "row must be a divisor of 6 values, got: 4"},
      {{"unpack_words", {Dense(I, {4}), Dense(Element::kF16, {6})}, {}, false},
       "row must be a divisor of 6 values, got: 0"},
  };
  for (const Refusal &refusal : refusals)
    EXPECT_THAT(std::string(ops::CheckKernel(refusal.desc).message()), HasSubstr(refusal.message));
}

}  // namespace
}  // namespace commsched
