// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/kernel_tester.h"

namespace commsched {
namespace {

using ops::Element;
using testing::Dense;
using testing::Operand;
using testing::Permuted;

struct Case {
  const char *name;
  std::vector<ops::KernelOperand> operands;
  double tolerance = 1e-5;
  bool library = true;  // must not fall back to the loops
};

std::ostream &operator<<(std::ostream &out, const Case &c) { return out << c.name; }

class MatmulTest : public ::testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(MatmulTest, GivesWhatLoopsGive) {
  auto [c, accumulate] = GetParam();
  ops::KernelDesc desc{"matmul", c.operands, {}, accumulate};
  testing::Comparison result = testing::Compare(desc);
  // Written so that a NaN fails.
  EXPECT_TRUE(result.error <= c.tolerance) << result.error << " " << result.implementation;
  EXPECT_FALSE(result.damaged);
  if (c.library) {
    EXPECT_THAT(result.implementation, ::testing::Not(::testing::StartsWith("ref")));
    EXPECT_NE(result.implementation, "loops");
  } else {
    EXPECT_EQ(result.implementation, "loops");
  }
}

constexpr Element F = Element::kF32, B = Element::kBF16, H = Element::kF16;

std::vector<Case> Cases() {
  return {
      {"plain", {Dense(F, {5, 7}), Dense(F, {7, 3}), Dense(F, {5, 3})}},
      {"wide", {Dense(F, {90, 512}), Dense(F, {512, 10}), Dense(F, {90, 10})}},
      {"a_transposed", {Permuted(F, {5, 7}, {1, 0}), Dense(F, {7, 3}), Dense(F, {5, 3})}},
      {"b_transposed", {Dense(F, {5, 7}), Permuted(F, {7, 3}, {1, 0}), Dense(F, {5, 3})}},
      {"both_transposed",
       {Permuted(F, {16, 33}, {1, 0}), Permuted(F, {33, 20}, {1, 0}), Dense(F, {16, 20})}},
      {"c_transposed", {Dense(F, {5, 7}), Dense(F, {7, 3}), Permuted(F, {5, 3}, {1, 0})}},
      {"all_transposed",
       {Permuted(F, {5, 7}, {1, 0}), Permuted(F, {7, 3}, {1, 0}), Permuted(F, {5, 3}, {1, 0})}},
      {"rows_of_larger",
       {Operand(F, {5, 7}, {20, 1}), Operand(F, {7, 3}, {9, 1}), Operand(F, {5, 3}, {11, 1})}},
      {"no_unit_stride",
       {Operand(F, {5, 7}, {21, 3}), Operand(F, {7, 3}, {8, 2}), Operand(F, {5, 3}, {9, 3})}},
      {"batch", {Dense(F, {4, 5, 7}), Dense(F, {4, 7, 3}), Dense(F, {4, 5, 3})}},
      {"attention",  // [batch, head, position, channel] kept as batch, position, head, channel
       {Permuted(F, {2, 3, 9, 8}, {0, 2, 1, 3}), Operand(F, {2, 3, 8, 9}, {216, 8, 1, 24}),
        Dense(F, {2, 3, 9, 9})}},
      {"attention_out",
       {Dense(F, {2, 3, 9, 9}), Permuted(F, {2, 3, 9, 8}, {0, 2, 1, 3}),
        Permuted(F, {2, 3, 9, 8}, {0, 2, 1, 3})}},
      {"three_batches",
       {Dense(F, {2, 3, 2, 5, 7}), Dense(F, {2, 3, 2, 7, 3}), Dense(F, {2, 3, 2, 5, 3})}},
      {"repeated_b", {Dense(F, {4, 5, 7}), Operand(F, {4, 7, 3}, {0, 3, 1}), Dense(F, {4, 5, 3})}},
      {"vector", {Dense(F, {1, 7}), Dense(F, {7, 1}), Dense(F, {1, 1})}},
      {"column", {Dense(F, {64, 7}), Dense(F, {7, 1}), Dense(F, {64, 1})}},
      {"outer", {Dense(F, {6, 1}), Dense(F, {1, 9}), Dense(F, {6, 9})}},
      {"bf16", {Dense(B, {16, 32}), Dense(B, {32, 16}), Dense(B, {16, 16})}, 1e-2},
      {"bf16_to_f32", {Dense(B, {16, 32}), Permuted(B, {32, 16}, {1, 0}), Dense(F, {16, 16})}, 1e-5},
      {"f64",
       {Dense(Element::kF64, {5, 7}), Dense(Element::kF64, {7, 3}), Dense(Element::kF64, {5, 3})},
       1e-14,
       false},
      {"f16", {Dense(H, {5, 7}), Dense(H, {7, 3}), Dense(H, {5, 3})}, 1e-3},
      {"f16_long", {Dense(H, {6, 4096}), Dense(H, {4096, 20}), Dense(H, {6, 20})}, 1e-3},
      {"f16_to_f32", {Dense(H, {16, 32}), Permuted(H, {32, 16}, {1, 0}), Dense(F, {16, 16})}},
      {"f16_no_unit_stride",
       {Operand(H, {5, 7}, {21, 3}), Operand(H, {7, 3}, {8, 2}), Operand(H, {5, 3}, {9, 3})},
       1e-3},
      {"f16_attention",
       {Permuted(H, {2, 3, 9, 8}, {0, 2, 1, 3}), Operand(H, {2, 3, 8, 9}, {216, 8, 1, 24}),
        Dense(H, {2, 3, 9, 9})},
       1e-3},
      {"f16_repeated_b",
       {Dense(H, {4, 5, 7}), Operand(H, {4, 7, 3}, {0, 3, 1}), Dense(H, {4, 5, 3})},
       1e-3},
      {"f16_column", {Dense(H, {64, 7}), Dense(H, {7, 1}), Dense(H, {64, 1})}, 1e-3},
      {"bf16_long", {Dense(B, {6, 4096}), Dense(B, {4096, 20}), Dense(B, {6, 20})}, 8e-3},
      {"bf16_no_unit_stride",
       {Operand(B, {5, 7}, {21, 3}), Operand(B, {7, 3}, {8, 2}), Operand(B, {5, 3}, {9, 3})},
       8e-3},
      {"i32",
       {Dense(Element::kI32, {5, 7}), Dense(Element::kI32, {7, 3}), Dense(Element::kI32, {5, 3})},
       0,
       false},
  };
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatmulTest,
                         ::testing::Combine(::testing::ValuesIn(Cases()), ::testing::Bool()),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) ? "_accumulate" : "");
                         });

TEST(MatmulCheckTest, RefusesShapesThatDoNotFit) {
  ops::KernelDesc desc{"matmul", {Dense(F, {5, 7}), Dense(F, {8, 3}), Dense(F, {5, 3})}, {}, false};
  EXPECT_THAT(std::string(ops::CheckKernel(desc).message()),
              ::testing::HasSubstr("[5,7] x [8,3] = [5,3]"));
  desc.operands.pop_back();
  EXPECT_THAT(std::string(ops::CheckKernel(desc).message()),
              ::testing::HasSubstr("needs 3 operands, got: 2"));
  desc.kind = "fourier";
  EXPECT_THAT(std::string(ops::CheckKernel(desc).message()),
              ::testing::AllOf(::testing::HasSubstr("unknown kind"), ::testing::HasSubstr("matmul")));
}

}  // namespace
}  // namespace commsched
