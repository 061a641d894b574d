// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn convolutions in any order of dimensions compute as launches what they compute on the host, and
// all that are library kernels have operands and padding as cuDNN has them.

#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

struct DrawnConvolution {
  std::string text, element;
};

// y[n, p, g, o] (+)= x[n, s p + d q, g, c] w[q, g, o, c], each with its dimensions in some order; or the sum that gives
// w of x and y. Padding of x, or rows that no window reaches.
DrawnConvolution draw(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return static_cast<int64_t>(random() % count); };
  DrawnConvolution drawn;
  drawn.element = std::array<const char *, 4>{"f32", "f32", "bf16", "f16"}[below(4)];
  const std::string &element = drawn.element;
  bool toWeights = below(3) == 0, accumulate = below(3) == 0, grouped = below(4) == 0;
  int64_t n = 1 + below(3), c = 2 + below(6), o = 2 + below(8), g = grouped ? 2 + below(2) : 1;
  // Of x, w and y: sizes, and the expressions of loops n p0 p1 q0 q1 c o g.
  std::vector<std::pair<int64_t, std::string>> x{{n, "n"}, {c, "c"}}, w{{c, "c"}, {o, "o"}}, y{{n, "n"}, {o, "o"}};
  if (grouped)
    for (auto *dims : {&x, &w, &y})
      dims->emplace_back(g, "g");
  std::vector<int64_t> inner, low, high; // of x's spatial dimensions
  for (int d = 0; d < 2; ++d) {
    int64_t image = 3 + below(5), window = 1 + below(3), stride = 1 + below(2), dilation = 1 + below(2);
    int64_t whole = (image - 1) * stride + (window - 1) * dilation + 1 + below(3);
    low.push_back(below(2));
    high.push_back(below(2) == 0 ? low.back() : below(3));
    inner.push_back(whole - low.back() - high.back());
    x.emplace_back(whole, absl::StrCat("p", d, " * ", stride, " + q", d, " * ", dilation));
    w.emplace_back(window, absl::StrCat("q", d));
    y.emplace_back(image, absl::StrCat("p", d));
  }
  if (*std::min_element(inner.begin(), inner.end()) < 1)
    return draw(random);
  // In every other one the large operands lie with channels first.
  bool first = below(2) == 0;
  for (auto *dims : {&w, &y})
    if (dims == &w || !first)
      std::shuffle(dims->begin(), dims->end(), random);
  std::vector<size_t> order(x.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  if (!first)
    std::shuffle(order.begin(), order.end(), random);
  std::vector<std::pair<int64_t, std::string>> sorted;
  std::vector<int64_t> sizes, before, behind;
  for (size_t i : order) {
    sorted.push_back(x[i]);
    bool space = i + 2 >= x.size();
    size_t d = i + 2 - x.size();
    before.push_back(space ? low[d] : 0);
    behind.push_back(space ? high[d] : 0);
    sizes.push_back(space ? inner[d] : x[i].first);
  }
  x = sorted;
  auto type = [&](const std::vector<std::pair<int64_t, std::string>> &dims) {
    std::string text = "tensor<";
    for (const auto &[size, loops] : dims)
      absl::StrAppend(&text, size, "x");
    return text + element + ">";
  };
  auto map = [&](const std::vector<std::pair<int64_t, std::string>> &dims) {
    return absl::StrCat("affine_map<(n, p0, p1, q0, q1, c, o", grouped ? ", g" : "", ") -> (",
                        absl::StrJoin(dims, ", ", [](std::string *out, const auto &dim) { *out += dim.second; }), ")>");
  };
  std::string given = absl::StrCat("tensor<", absl::StrJoin(sizes, "x"), "x", element, ">");
  const auto &second = toWeights ? y : w, &out = toWeights ? w : y;
  std::string r = "\"reduction\"", p = "\"parallel\"";
  // n p0 p1 q0 q1 c o g
  std::vector<std::string> iterators = toWeights ? std::vector<std::string>{r, r, r, p, p, p, p}
                                                 : std::vector<std::string>{p, p, p, r, r, r, p};
  if (grouped)
    iterators.push_back(p);
  std::string &text = drawn.text;
  absl::StrAppend(&text, "func.func @f(%given: ", given, ", %second: ", type(second), accumulate ? ", %old: " + type(out) : "",
                  ") -> ", type(out), " {\n  %zero = arith.constant 0.0 : ", element, "\n");
  bool padded = std::any_of(before.begin(), before.end(), [](int64_t v) { return v != 0; }) ||
                std::any_of(behind.begin(), behind.end(), [](int64_t v) { return v != 0; });
  if (padded)
    absl::StrAppend(&text, "  %x = tensor.pad %given low[", absl::StrJoin(before, ", "), "] high[", absl::StrJoin(behind, ", "),
                    "] {\n  ^bb0(", grouped ? "%a: index, %b: index, %c: index, %d: index, %e: index" : "%a: index, %b: index, %c: index, %d: index",
                    "):\n    tensor.yield %zero : ", element, "\n  } : ", given, " to ", type(x), "\n");
  if (!accumulate)
    absl::StrAppend(&text, "  %e = tensor.empty() : ", type(out), "\n  %old = linalg.fill ins(%zero : ", element, ") outs(%e : ",
                    type(out), ") -> ", type(out), "\n");
  absl::StrAppend(&text, "  %r = linalg.generic {indexing_maps = [", map(x), ", ", map(second), ", ", map(out), "], iterator_types = [",
                  absl::StrJoin(iterators, ", "), "]} ins(", padded ? "%x" : "%given", ", %second : ", type(x), ", ", type(second),
                  ") outs(%old : ", type(out), ") {\n  ^bb0(%a: ", element, ", %b: ", element, ", %s: ", element,
                  "):\n    %m = arith.mulf %a, %b : ", element, "\n    %t = arith.addf %m, %s : ", element,
                  "\n    linalg.yield %t : ", element, "\n  } -> ", type(out), "\n  return %r : ", type(out), "\n}\n");
  return drawn;
}

// Whether all operands are dense in the order.
bool dense(const plan::Kernel &kernel, bool channelsLast) {
  for (const plan::KernelTensor &operand : kernel.operands()) {
    int64_t stride = 1;
    std::vector<int> order; // from the innermost
    if (channelsLast)
      order.push_back(1);
    for (int d = operand.dims_size() - 1; d > 1; --d)
      order.push_back(d);
    if (!channelsLast)
      order.push_back(1);
    order.push_back(0);
    for (int d : order) {
      if (operand.strides(d) != stride)
        return false;
      stride *= operand.dims(d);
    }
  }
  return true;
}

TEST(Convolutions, AreThoseOfTheHostAndAsCudnnHasThem) {
  Cases cases = casesOf(60);
  size_t kernels = 0, first = 0, padded = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    DrawnConvolution drawn = draw(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", drawn.text));
    Context context;
    OwningOpRef<ModuleOp> module = context.parse(drawn.text);
    ASSERT_TRUE(module);
    Fragments fragments(context, *module);
    ASSERT_EQ(fragments.refusal, "");
    for (const plan::Kernel &kernel : fragments.cuda().kernels) {
      if (kernel.kind() == "matmul")
        continue;
      ++kernels;
      first += !dense(kernel, true);
      EXPECT_TRUE(dense(kernel, true) || dense(kernel, false)) << kernel.DebugString();
      const auto &low = kernel.attributes().at("pad_low").values(), &high = kernel.attributes().at("pad_high").values();
      EXPECT_TRUE(std::equal(low.begin(), low.end(), high.begin(), high.end())) << kernel.DebugString();
      padded += *std::max_element(low.begin(), low.end()) > 0;
    }
    Buffers inputs;
    for (Type type : fragments.inputs(0))
      inputs.push_back(randomTensor(type, random));
    Buffers host = fragments.runOnHost(0, inputs);
    std::string fault;
    Buffers device = fragments.emulate(0, inputs, seed, fault);
    ASSERT_EQ(fault, "");
    Difference difference = compare(fragments.outputs(0)[0], host[0], device[0]);
    EXPECT_LE(difference.relative, drawn.element == "f32" ? 1e-5 : drawn.element == "f16" ? 1e-3
                                                                                          : 8e-3);
  }
  std::cout << kernels << " library kernels, " << first << " with channels first, " << padded << " with padding\n";
  EXPECT_GT(kernels, cases.count() / 4);
  EXPECT_TRUE(first > 0 || cases.count() < 60);
}

} // namespace
