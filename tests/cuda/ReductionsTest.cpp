// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions have the bits of the tree that docs/fragments.md describes, which is computed
// here from that text alone, and are as near to the sum in f64 as its depth says.

#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

struct Reduction {
  std::vector<int64_t> sizes; // of the input, row-major
  std::vector<bool> reduced;
  std::string op; // addf, maximumf, mulf
  bool accumulates = false;
};

std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string tensor(const std::vector<int64_t> &sizes) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

std::string program(const Reduction &r) {
  std::vector<int64_t> kept;
  std::vector<std::string> dims, outs, iterators;
  for (size_t i = 0; i < r.sizes.size(); ++i) {
    dims.push_back("d" + std::to_string(i));
    iterators.push_back(r.reduced[i] ? "\"reduction\"" : "\"parallel\"");
    if (r.reduced[i])
      continue;
    kept.push_back(r.sizes[i]);
    outs.push_back(dims.back());
  }
  std::string in = tensor(r.sizes), out = tensor(kept);
  return "func.func @f(%x: " + in + ", %init: " + out + ") -> " + out + " {\n" +
         "  %r = linalg.generic {indexing_maps = [affine_map<(" + join(dims) + ") -> (" + join(dims) +
         ")>, affine_map<(" + join(dims) + ") -> (" + join(outs) + ")>], iterator_types = [" + join(iterators) +
         "]} ins(%x : " + in + ") outs(%init : " + out + ") {\n  ^bb0(%a: f32, %b: f32):\n    %c = arith." + r.op +
         " %b, %a : f32\n    linalg.yield %c : f32\n  } -> " + out + "\n  return %r : " + out +
         "\n}\n";
}

Reduction randomReduction(std::mt19937_64 &random) {
  Reduction r;
  size_t rank = 1 + random() % 4;
  int64_t left = 1 << (4 + random() % 14);
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = i + 1 == rank ? left : 1 + int64_t(random() % std::min<int64_t>(left, 1 << (random() % 12)));
    r.sizes.push_back(std::max<int64_t>(1, size));
    left = std::max<int64_t>(1, left / size);
    r.reduced.push_back(random() % 2);
  }
  r.reduced[random() % rank] = true;
  std::shuffle(r.sizes.begin(), r.sizes.end(), random);
  const char *ops[] = {"addf", "addf", "maximumf", "mulf"};
  r.op = ops[random() % 4];
  return r;
}

float apply(const std::string &op, float a, float b) {
  if (op == "addf")
    return a + b;
  if (op == "mulf")
    return a * b;
  return std::isnan(a) ? a : std::isnan(b) ? b
                                           : std::max(a, b);
}

// Halves of a power of two of numbers, until one is left.
float halve(const std::string &op, std::vector<float> values) {
  for (size_t half = values.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      values[i] = apply(op, values[i], values[i + half]);
  return values[0];
}

float lanesOf(const std::string &op, const std::vector<float> &terms, size_t begin, size_t end, size_t lanes,
              bool row) {
  float none = op == "addf" ? -0.0f : op == "mulf" ? 1.0f
                                                   : -INFINITY;
  std::vector<float> own(lanes, none);
  for (size_t i = begin; i < end; ++i) {
    float &sum = own[(i - begin) % lanes];
    sum = apply(op, sum, terms[i]);
  }
  if (!row) {
    float sum = own[0];
    for (size_t lane = 1; lane < lanes; ++lane)
      sum = apply(op, sum, own[lane]);
    return sum;
  }
  if (lanes <= 32)
    return halve(op, own);
  std::vector<float> warps;
  for (size_t warp = 0; warp < lanes; warp += 32)
    warps.push_back(halve(op, std::vector<float>(own.begin() + warp, own.begin() + warp + 32)));
  return halve(op, warps);
}

// By the rules of the documentation.
float tree(const std::string &op, const std::vector<float> &terms, float initial, size_t outputs, bool row) {
  size_t count = terms.size();
  if (count < 16 || (!row && outputs >= 32768)) {
    float sum = initial;
    for (float term : terms)
      sum = apply(op, sum, term);
    return sum;
  }
  size_t lanes = !row ? 8 : count > 1024 ? 256
                                         : 32;
  size_t columns = 256 / lanes, blocks = (outputs + columns - 1) / columns;
  size_t chunk = count;
  if (blocks < 64 && count > 64 * lanes) {
    size_t wanted = std::min((count + 32 * lanes - 1) / (32 * lanes), 256 / blocks);
    chunk = (count + wanted - 1) / wanted;
  }
  std::vector<float> parts;
  for (size_t begin = 0; begin < count; begin += chunk)
    parts.push_back(lanesOf(op, terms, begin, std::min(count, begin + chunk), lanes, row));
  float sum = parts.size() == 1 ? parts[0] : lanesOf(op, parts, 0, parts.size(), 32, /*row=*/true);
  return apply(op, initial, sum);
}

void checkReduction(const Reduction &r, uint64_t seed, std::map<std::string, size_t> &forms) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(program(r));
  ASSERT_TRUE(module) << context.error << program(r);
  Fragments fragments(context, *module);
  ASSERT_EQ(fragments.refusal, "");
  std::mt19937_64 random(seed);
  Buffers inputs;
  for (Type type : fragments.inputs(0))
    inputs.push_back(randomTensor(type, random));
  std::string fault;
  Buffers found = fragments.emulate(0, inputs, seed, fault);
  ASSERT_EQ(fault, "");
  std::vector<float> x(inputs[0].size() / 4), initial(inputs[1].size() / 4), result(initial.size());
  std::memcpy(x.data(), inputs[0].data(), inputs[0].size());
  std::memcpy(initial.data(), inputs[1].data(), inputs[1].size());
  std::memcpy(result.data(), found[0].data(), found[0].size());
  // Terms of each output, in the order of the input's memory.
  std::vector<std::vector<float>> terms(initial.size());
  std::vector<int64_t> index(r.sizes.size(), 0);
  for (float value : x) {
    int64_t output = 0;
    for (size_t i = 0; i < index.size(); ++i)
      if (!r.reduced[i])
        output = output * r.sizes[i] + index[i];
    terms[output].push_back(value);
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < r.sizes[i])
        break;
      index[i] = 0;
    }
  }
  // Dimensions of one element are no dimensions.
  size_t last = r.sizes.size();
  while (last > 0 && r.sizes[last - 1] == 1)
    --last;
  bool row = last == 0 || r.reduced[last - 1];
  size_t differing = 0;
  for (size_t i = 0; i < initial.size(); ++i) {
    float expected = tree(r.op, terms[i], initial[i], initial.size(), row);
    differing += std::memcmp(&expected, &result[i], 4) != 0;
    if (r.op != "addf")
      continue;
    double sum = initial[i], sizes = std::fabs(initial[i]);
    for (float term : terms[i]) {
      sum += term;
      sizes += std::fabs(term);
    }
    // n additions, each of half a unit in the last place of what has been added up so far.
    EXPECT_LE(std::fabs(sum - result[i]), 0x1p-24 * double(terms[i].size() + 1) * sizes);
  }
  EXPECT_EQ(differing, 0u) << "of " << initial.size() << "\n"
                           << program(r);
  for (const auto &[name, shape] : fragments.cuda().shapes)
    ++forms[std::to_string(shape.lanes) + (shape.lanesFirst ? " lanes of a row" : " lanes of a column") +
            (shape.chunks > 1 ? ", chunks" : "")];
}

TEST(Reductions, HaveTheBitsOfTheDocumentedTree) {
  std::map<std::string, size_t> forms;
  Cases cases = casesOf(120);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    checkReduction(randomReduction(random), seed, forms);
  }
  for (const auto &[form, count] : forms)
    std::cout << count << " of " << form << "\n";
}

TEST(Reductions, OfEveryForm) {
  std::map<std::string, size_t> forms;
  checkReduction({{40000}, {true}, "addf"}, 1, forms);
  checkReduction({{3, 70000}, {false, true}, "addf"}, 2, forms);
  checkReduction({{20, 5000}, {false, true}, "mulf"}, 3, forms);
  checkReduction({{100, 300}, {false, true}, "maximumf"}, 4, forms);
  checkReduction({{300, 100}, {true, false}, "addf"}, 5, forms);
  checkReduction({{9000, 33}, {true, false}, "addf"}, 6, forms);
  checkReduction({{20, 40000}, {true, false}, "addf"}, 7, forms);
  checkReduction({{5, 7}, {true, false}, "addf"}, 8, forms);
  EXPECT_GE(forms.size(), 6u);
}

} // namespace
