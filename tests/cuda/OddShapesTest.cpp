// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments of tensors without elements, of one, or of odd numbers of them, of every element type and with special values:
// launches compute what the host computes.

#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <array>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

struct Odd {
  std::string element, reduction, elementwise, initial;
  std::vector<int64_t> shape;
  std::vector<bool> reduced; // by dimension
};

Odd drawOdd(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return size_t(random() % count); };
  Odd odd;
  odd.element = std::array<const char *, 8>{"f32", "f64", "f16", "bf16", "i64", "i32", "i8", "i1"}[below(8)];
  if (odd.element[0] != 'i') {
    odd.reduction = std::array<const char *, 5>{"addf", "maximumf", "minimumf", "maxnumf", "minnumf"}[below(5)];
    odd.elementwise = std::array<const char *, 4>{"addf", "subf", "mulf", "divf"}[below(4)];
    odd.initial = std::array<const char *, 3>{"0.0", "-0.0", "1.0"}[below(3)];
  } else {
    odd.reduction = odd.element == "i1" ? std::array<const char *, 3>{"andi", "ori", "xori"}[below(3)]
                                        : std::array<const char *, 8>{"addi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "xori"}[below(8)];
    odd.elementwise = std::array<const char *, 3>{"addi", "xori", "muli"}[below(3)];
    odd.initial = odd.element == "i1" ? std::array<const char *, 2>{"false", "true"}[below(2)]
                                      : std::array<const char *, 3>{"0", "-1", "1"}[below(3)];
  }
  static constexpr int64_t kSizes[] = {0, 1, 1, 2, 3, 7, 31, 33, 65, 257, 1031};
  int64_t elements = 1;
  for (size_t rank = below(4); odd.shape.size() < rank;) {
    int64_t size = kSizes[below(std::size(kSizes))];
    if (elements * size > 200000)
      size = 1;
    elements *= size;
    odd.shape.push_back(size);
    odd.reduced.push_back(below(2));
  }
  return odd;
}

std::string tensor(const std::vector<int64_t> &shape, const std::string &element) {
  return absl::StrCat("tensor<", absl::StrJoin(shape, "x"), shape.empty() ? "" : "x", element, ">");
}

std::string programOf(const Odd &odd) {
  std::vector<int64_t> kept, dimensions;
  for (size_t d = 0; d < odd.shape.size(); ++d)
    odd.reduced[d] ? dimensions.push_back(int64_t(d)) : kept.push_back(odd.shape[d]);
  std::string whole = tensor(odd.shape, odd.element), part = tensor(kept, odd.element);
  std::string text = absl::StrCat("func.func @f(%x: ", whole, ", %y: ", whole, ") -> (", whole, ", ", part, ") {\n");
  absl::StrAppend(&text, "  %e = arith.", odd.elementwise, " %x, %y : ", whole, "\n");
  absl::StrAppend(&text, "  %i = arith.constant ", odd.initial, odd.element == "i1" ? "" : absl::StrCat(" : ", odd.element), "\n");
  absl::StrAppend(&text, "  %m = tensor.empty() : ", part, "\n  %z = linalg.fill ins(%i : ", odd.element, ") outs(%m : ", part, ") -> ", part, "\n");
  absl::StrAppend(&text, "  %r = linalg.reduce { arith.", odd.reduction, " } ins(%x : ", whole, ") outs(%z : ", part, ") dimensions = [",
                  absl::StrJoin(dimensions, ", "), "]\n");
  absl::StrAppend(&text, "  return %e, %r : ", whole, ", ", part, "\n}\n");
  return text;
}

TEST(OddShapes, HaveWhatTheHostComputes) {
  Cases cases = casesOf(80);
  size_t checked = 0, empty = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    Odd odd = drawOdd(random);
    const std::string program = programOf(odd);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", program));
    Context context;
    OwningOpRef<ModuleOp> module = context.parse(program);
    ASSERT_TRUE(module);
    Fragments fragments(context, *module);
    ASSERT_EQ(fragments.refusal, "");
    Buffers inputs;
    for (Type type : fragments.inputs(0))
      inputs.push_back(specialTensor(type, random));
    Buffers host = fragments.runOnHost(0, inputs);
    std::string fault;
    Buffers device = fragments.emulate(0, inputs, seed, fault);
    ASSERT_EQ(fault, "");
    for (auto [i, type] : llvm::enumerate(fragments.outputs(0))) {
      Difference difference = compare(type, host[i], device[i]);
      checked += difference.elements;
      empty += difference.elements == 0;
      if (i == 0)
        EXPECT_EQ(difference.differing, 0u);
      // Sums in another order.
      EXPECT_LT(difference.relative, odd.element == "bf16" || odd.element == "f16" ? 0.5 : 1e-2) << "result " << i;
    }
  }
  EXPECT_GT(checked, cases.count());
  EXPECT_GT(empty, 0u);
}

TEST(OddShapesFaults, ANaNThatIsLostIsFound) {
  const Odd odd = {"f32", "maximumf", "addf", "0.0", {3, 257}, {false, true}};
  auto lose = [](ModuleOp kernels, cudaexport::CompiledCuda &) {
    kernels.walk([](LLVM::MaximumOp op) {
      OpBuilder builder(op);
      op.replaceAllUsesWith(LLVM::MaxNumOp::create(builder, op.getLoc(), op.getType(), op.getA(), op.getB()).getResult());
      op.erase();
    });
  };
  for (bool planted : {false, true}) {
    Context context;
    OwningOpRef<ModuleOp> module = context.parse(programOf(odd));
    Fragments fragments(context, *module, planted ? Fragments::Change(lose) : Fragments::Change());
    ASSERT_EQ(fragments.refusal, "");
    std::mt19937_64 random(1);
    Buffers inputs;
    for (Type type : fragments.inputs(0))
      inputs.push_back(specialTensor(type, random));
    EXPECT_EQ(findingOf(fragments, 0, inputs, 1).empty(), !planted);
  }
}

} // namespace
