// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn reductions into memory that has just been filled have the bits of the host, of numbers whose sums are exact, whether
// they begin with the number or with what is in memory.

#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iostream>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

struct FilledSum {
  int64_t kept = 3, terms = 5000;
  std::string element = "f32", constant = "3.0";
  std::string op = "addf";
  bool columns = false, transposedOut = false;
  enum class Also {
    Nothing,
    Returned,
    Shared,
    Part
  } also = Also::Nothing; // what else the filled memory is for
};

std::string programOf(const FilledSum &s) {
  int64_t k = s.kept, n = s.terms;
  const std::string &e = s.element;
  std::string in = s.columns ? absl::StrCat("tensor<", n, "x", k, "x2x", e, ">") : absl::StrCat("tensor<2x", k, "x", n, "x", e, ">");
  std::string out = s.transposedOut ? absl::StrCat("tensor<", k, "x2x", e, ">") : absl::StrCat("tensor<2x", k, "x", e, ">");
  std::string generic = absl::StrCat(
      "linalg.generic {indexing_maps = [affine_map<(b, i, j) -> ", s.columns ? "(j, i, b)" : "(b, i, j)", ">, affine_map<(b, i, j) -> ",
      s.transposedOut ? "(i, b)" : "(b, i)", ">], iterator_types = [\"parallel\", \"parallel\", \"reduction\"]} ins(%x : ", in, ") outs(");
  std::string body = absl::StrCat(" : ", out, ") {\n  ^bb0(%a: ", e, ", %b: ", e, "):\n    %c = arith.", s.op, " %b, %a : ", e, "\n    linalg.yield %c : ", e,
                                  "\n  } -> ", out, "\n");
  std::string text = absl::StrCat("  %zero = arith.constant ", s.constant, " : ", s.element, "\n  %e = tensor.empty() : ", out,
                                  "\n  %i = linalg.fill ins(%zero : ", s.element, ") outs(%e : ", out, ") -> ", out, "\n");
  std::string results = out, names = "%r", given;
  switch (s.also) {
  case FilledSum::Also::Part: {
    // Into half of what is filled, in the memory of something, so that it is filled once for both.
    given = absl::StrCat(", %e: tensor<", s.transposedOut ? "" : "2x", 2 * k, s.transposedOut ? "x2x" : "x", e, ">");
    std::string whole = s.transposedOut ? absl::StrCat("tensor<", 2 * k, "x2x", e, ">") : absl::StrCat("tensor<2x", 2 * k, "x", e, ">");
    std::string slice = s.transposedOut ? absl::StrCat("[1, 0] [", k, ", 2] [1, 1] : ") : absl::StrCat("[0, 1] [2, ", k, "] [1, 1] : ");
    text = absl::StrCat("  %zero = arith.constant ", s.constant, " : ", s.element,
                        "\n  %w = linalg.fill ins(%zero : ", s.element, ") outs(%e : ", whole, ") -> ", whole,
                        "\n  %i = tensor.extract_slice %w", slice, whole, " to ", out, "\n  %s = ", generic, "%i", body,
                        "  %r = tensor.insert_slice %s into %w", slice, out, " into ", whole, "\n");
    results = whole;
    break;
  }
  case FilledSum::Also::Shared:
    absl::StrAppend(&text, "  %r = ", generic, "%i", body, "  %q = ", generic, "%i", body);
    results = absl::StrCat(out, ", ", out);
    names = "%r, %q";
    break;
  case FilledSum::Also::Returned:
    results = absl::StrCat(out, ", ", out);
    names = "%r, %i";
    [[fallthrough]];
  case FilledSum::Also::Nothing:
    absl::StrAppend(&text, "  %r = ", generic, "%i", body);
  }
  return absl::StrCat("func.func @f(%x: ", in, given, ") -> (", results, ") {\n", text, "  return ", names, " : ", results, "\n}\n");
}

FilledSum drawSum(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return int64_t(random() % count); };
  FilledSum s;
  s.kept = 1 + below(40);
  s.terms = std::array<int64_t, 6>{0, 1, 5, 40, 1100, 9000}[below(6)];
  s.element = std::array<const char *, 7>{"f32", "f32", "f64", "f16", "bf16", "i32", "i64"}[below(7)];
  bool isFloat = s.element[0] != 'i';
  s.op = isFloat ? std::array<const char *, 3>{"addf", "maximumf", "minimumf"}[below(3)]
                 : std::array<const char *, 3>{"addi", "maxsi", "minsi"}[below(3)];
  // Sums of 16 bits are exact while they are small.
  if (s.terms > 40 && (s.element == "f16" || s.element == "bf16") && s.op == "addf")
    s.terms = 40;
  s.constant = isFloat ? std::array<const char *, 4>{"0.0", "-0.0", "3.0", "-2.0"}[below(4)]
                       : std::array<const char *, 3>{"0", "3", "-2"}[below(3)];
  s.columns = below(2);
  s.transposedOut = below(3) == 0;
  s.also = std::array{FilledSum::Also::Nothing, FilledSum::Also::Returned, FilledSum::Also::Shared, FilledSum::Also::Part}[below(4)];
  return s;
}

// Whole numbers.
Buffers wholeInputs(const FilledSum &s, Fragments &fragments, std::mt19937_64 &random) {
  Buffers inputs;
  for (Type type : fragments.inputs(0)) {
    Bytes &bytes = inputs.emplace_back(bytesOf(type));
    auto number = [&](auto value) {
      for (size_t at = 0; at < bytes.size(); at += sizeof(value)) {
        value = decltype(value)(int64_t(random() % 5) - 2);
        std::memcpy(&bytes[at], &value, sizeof(value));
      }
    };
    if (s.element == "f32") {
      number(float());
    } else if (s.element == "f64") {
      number(double());
    } else if (s.element == "i32") {
      number(int32_t());
    } else if (s.element == "i64") {
      number(int64_t());
    } else {
      for (size_t at = 0; at < bytes.size(); at += 2) {
        float value = float(int64_t(random() % 5) - 2);
        uint16_t half = s.element == "f16" ? ops::FloatToHalf(value) : ops::FloatToBFloat16(value);
        std::memcpy(&bytes[at], &half, 2);
      }
    }
  }
  return inputs;
}

std::string findingOf(const FilledSum &s, uint64_t seed, size_t &launches, size_t &begun, const Fragments::Change &change = {}) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(programOf(s));
  if (!module)
    return context.error;
  Fragments fragments(context, *module, change);
  if (!fragments.refusal.empty())
    return fragments.refusal;
  for (const auto &step : fragments.cuda().module.fragments[0].steps) {
    const std::string &kernel = std::get<plan::CudaLaunch>(step).kernel;
    ++launches;
    begun += absl::StrContains(kernel, "_from_") && !absl::EndsWith(kernel, "_finish");
  }
  std::mt19937_64 random(seed);
  return findingOf(fragments, 0, wholeInputs(s, fragments, random), seed);
}

TEST(FilledSums, HaveTheBitsOfTheHost) {
  size_t launches = 0, begun = 0;
  Cases cases = casesOf(150);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    FilledSum s = drawSum(random);
    EXPECT_EQ(findingOf(s, seed, launches, begun), "") << "seed " << seed << "\n"
                                                       << programOf(s);
  }
  std::cout << launches << " launches, " << begun << " reductions that begin with a number\n";
  EXPECT_GT(begun, cases.count() / 4);
}

TEST(FilledSums, AreNotFilled) {
  size_t launches = 0, begun = 0;
  EXPECT_EQ(findingOf(FilledSum{}, 1, launches, begun), "");
  EXPECT_EQ(begun, 1u);
  EXPECT_LE(launches, 2u);
  // What is filled is wanted elsewhere.
  launches = begun = 0;
  FilledSum part;
  part.also = FilledSum::Also::Part;
  EXPECT_EQ(findingOf(part, 1, launches, begun), "");
  EXPECT_EQ(begun, 0u);
}

// In chunks, whose results a second kernel combines.
TEST(FilledSumsFaults, ANumberThatIsForgottenIsFound) {
  size_t launches = 0, begun = 0;
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &) {
    size_t changed = 0;
    kernels.walk([&](LLVM::LLVMFuncOp kernel) {
      if (!kernel.getName().ends_with("_finish"))
        return;
      kernel.walk([&](LLVM::ConstantOp op) {
        auto value = dyn_cast<FloatAttr>(op.getValue());
        if (!value || value.getValueAsDouble() != 3)
          return;
        op.setValueAttr(FloatAttr::get(value.getType(), 0));
        ++changed;
      });
    });
    EXPECT_EQ(changed, 1u);
  };
  FilledSum s;
  s.terms = 60000;
  EXPECT_EQ(findingOf(s, 1, launches, begun), "");
  EXPECT_NE(findingOf(s, 1, launches, begun, change), "");
}

} // namespace
