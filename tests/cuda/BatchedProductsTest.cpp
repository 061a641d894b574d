// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn products, whatever the order of their dimensions, compute as launches what they compute on the host, and
// each is one call: of one batch at most.

#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

struct DrawnProduct {
  std::string text, element;
  int64_t operations = 2;
};

// c[b.., m.., n..] (+)= a[b.., m.., k..] b[b.., n.., k..], each with its dimensions in some order.
DrawnProduct drawProduct(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return int64_t(random() % count); };
  DrawnProduct drawn;
  drawn.element = std::array<const char *, 4>{"f32", "f32", "bf16", "f16"}[below(4)];
  std::string out = below(3) == 0 ? "f32" : drawn.element;
  bool accumulate = below(2) == 0;
  using Dims = std::vector<std::pair<int64_t, std::string>>;
  Dims a, b, c;
  std::vector<std::string> loops, iterators;
  auto add = [&](const char *kind, int64_t count, int64_t least, std::vector<Dims *> operands, const char *iterator) {
    for (int64_t i = 0; i < count; ++i) {
      loops.push_back(absl::StrCat(kind, i));
      iterators.push_back(absl::StrCat("\"", iterator, "\""));
      int64_t size = least + below(4);
      drawn.operations *= size;
      for (Dims *operand : operands)
        operand->emplace_back(size, loops.back());
    }
  };
  add("b", 1 + below(4), 1, {&a, &b, &c}, "parallel");
  add("m", 1 + below(2), 4, {&a, &c}, "parallel");
  add("n", 1 + below(2), 4, {&b, &c}, "parallel");
  add("k", 1 + below(2), 6, {&a, &b}, "reduction");
  for (Dims *operand : {&a, &b, &c})
    if (below(4) != 0)
      std::shuffle(operand->begin(), operand->end(), random);
  auto type = [&](const Dims &dims, const std::string &element) {
    std::string text = "tensor<";
    for (const auto &[size, loop] : dims)
      absl::StrAppend(&text, size, "x");
    return text + element + ">";
  };
  auto map = [&](const Dims &dims) {
    return absl::StrCat("affine_map<(", absl::StrJoin(loops, ", "), ") -> (",
                        absl::StrJoin(dims, ", ", [](std::string *to, const auto &dim) { *to += dim.second; }), ")>");
  };
  std::string A = type(a, drawn.element), B = type(b, drawn.element), C = type(c, out);
  std::string &text = drawn.text;
  absl::StrAppend(&text, "func.func @f(%a: ", A, ", %b: ", B, accumulate ? ", %old: " + C : "", ") -> ", C, " {\n");
  if (!accumulate)
    absl::StrAppend(&text, "  %zero = arith.constant 0.0 : ", out, "\n  %e = tensor.empty() : ", C, "\n  %old = linalg.fill ins(%zero : ", out,
                    ") outs(%e : ", C, ") -> ", C, "\n");
  bool widens = out != drawn.element;
  absl::StrAppend(&text, "  %r = linalg.generic {indexing_maps = [", map(a), ", ", map(b), ", ", map(c), "], iterator_types = [",
                  absl::StrJoin(iterators, ", "), "]} ins(%a, %b : ", A, ", ", B, ") outs(%old : ", C, ") {\n  ^bb0(%x: ", drawn.element, ", %y: ",
                  drawn.element, ", %s: ", out, "):\n");
  if (widens)
    absl::StrAppend(&text, "    %v = arith.extf %x : ", drawn.element, " to f32\n    %w = arith.extf %y : ", drawn.element, " to f32\n");
  absl::StrAppend(&text, "    %m = arith.mulf ", widens ? "%v, %w" : "%x, %y", " : ", out, "\n    %t = arith.addf %m, %s : ", out,
                  "\n    linalg.yield %t : ", out, "\n  } -> ", C, "\n  return %r : ", C, "\n}\n");
  return drawn;
}

double toleranceOf(const std::string &element) { return element == "f32" ? 1e-5 : element == "f16" ? 1e-3
                                                                                                   : 8e-3; }

TEST(BatchedProducts, AreThoseOfTheHostInOneCall) {
  Cases cases = casesOf(100);
  size_t calls = 0, batched = 0, launches = 0, most = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    DrawnProduct drawn = drawProduct(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", drawn.text));
    Context context;
    OwningOpRef<ModuleOp> module = context.parse(drawn.text);
    ASSERT_TRUE(module) << context.error;
    Fragments fragments(context, *module);
    ASSERT_EQ(fragments.refusal, "");
    const cudaexport::CompiledCuda &cuda = fragments.cuda();
    // Small ones are loops.
    EXPECT_EQ(cuda.kernels.size(), drawn.operations >= 4096 ? 1u : 0u);
    for (const plan::Kernel &kernel : cuda.kernels)
      for (const plan::KernelTensor &operand : kernel.operands()) {
        EXPECT_LE(operand.dims_size(), 3) << kernel.DebugString();
        batched += operand.dims_size() == 3;
      }
    for (const auto &step : cuda.module.fragments[0].steps)
      ++(std::holds_alternative<plan::CudaLibraryCall>(step) ? calls : launches);
    // Copies of both operands, at most two of each, and of the result.
    most = std::max(most, cuda.module.fragments[0].steps.size());
    Buffers inputs;
    for (Type type : fragments.inputs(0))
      inputs.push_back(randomTensor(type, random));
    EXPECT_EQ(findingOf(fragments, 0, inputs, seed, toleranceOf(drawn.element)), "");
  }
  std::cout << calls << " calls, " << batched / 3 << " of a batch, " << launches << " copies, at most " << most << " steps\n";
  EXPECT_GT(batched, cases.count());
}

TEST(BatchedProductsFaults, ACopyLeftOutIsFound) {
  size_t tried = 0;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    DrawnProduct drawn = drawProduct(random);
    Context context;
    OwningOpRef<ModuleOp> module = context.parse(drawn.text);
    ASSERT_TRUE(module) << context.error;
    bool planted = false;
    Fragments fragments(context, *module, [&](ModuleOp, cudaexport::CompiledCuda &compiled) {
      auto &steps = compiled.module.fragments[0].steps;
      planted = std::holds_alternative<plan::CudaLaunch>(steps.front());
      if (planted)
        steps.erase(steps.begin());
    });
    ASSERT_EQ(fragments.refusal, "");
    if (!planted)
      continue;
    ++tried;
    Buffers inputs;
    for (Type type : fragments.inputs(0))
      inputs.push_back(randomTensor(type, random));
    EXPECT_NE(findingOf(fragments, 0, inputs, seed, toleranceOf(drawn.element)), "") << drawn.text;
  }
  EXPECT_GT(tried, 3u);
}

} // namespace
