// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn updates at computed places have the bits of a loop on the host, whichever places are the same.

#include "passes/cuda/Stages.h"
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

using Form = cudaexport::NestShape::Form;

struct DrawnScatter {
  int64_t count = 1;
  std::vector<int64_t> sizes;
  std::vector<bool> indexed, dropped; // dropped: a dimension that the window does not have
  std::string element = "f32", index = "i32", payload = "add";
  bool clamped = false; // places out of range are the nearest one, or nothing is written
};

std::string tensorOf(const std::vector<int64_t> &sizes, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    absl::StrAppend(&text, size, "x");
  return text + element + ">";
}

// What is stored, of what was there (%o) and the update (%u).
std::string payloadOf(const DrawnScatter &s, size_t rank) {
  const std::string &e = s.element;
  bool isFloat = e[0] == 'f' || e[0] == 'b';
  auto op = [&](const char *ofFloats, const char *ofIntegers) {
    return absl::StrCat("      %v = arith.", isFloat ? ofFloats : ofIntegers, " %o, %u : ", e, "\n");
  };
  if (s.payload == "add")
    return op("addf", "addi");
  if (s.payload == "mul")
    return op("mulf", "muli");
  if (s.payload == "min")
    return op("minimumf", "minsi");
  // Which of two is kept depends on the order of updates.
  if (s.payload == "select")
    return absl::StrCat(isFloat ? "      %l = arith.cmpf olt, %o, %u : " : "      %l = arith.cmpi slt, %o, %u : ", e, "\n",
                        op("subf", "subi").replace(6, 2, "%d"), "      %v = arith.select %l, %u, %d : ", e, "\n");
  if (s.payload == "indexed" && rank > 0)
    return absl::StrCat("      %x = linalg.index ", rank - 1, " : index\n      %y = arith.addi %x, %i : index\n",
                        "      %z = arith.index_castui %y : index to i64\n",
                        isFloat      ? "      %w = arith.uitofp %z : i64 to " + e + "\n      %a = arith.subf %w, %o : " + e +
                                           "\n      %v = arith.addf %a, %u : " + e + "\n"
                        : e == "i64" ? "      %v = arith.subi %z, %o : i64\n"
                                     : "      %w = arith.trunci %z : i64 to " + e + "\n      %v = arith.subi %w, %o : " + e + "\n");
  return absl::StrCat("      %none = arith.constant ", isFloat ? "0.0" : "0", " : ", e, "\n      %v = arith.",
                      isFloat ? "addf" : "addi", " %u, %none : ", e, "\n");
}

std::string programOf(const DrawnScatter &s) {
  std::vector<int64_t> window, whole{s.count};
  std::vector<std::string> offsets, sizes, strides(s.sizes.size(), "1"), dims, inOfUpdates{"%i"}, sizesOfUpdates{"1"};
  std::string text, places;
  int64_t indices = 0;
  for (size_t d = 0; d < s.sizes.size(); ++d) {
    sizes.push_back(s.indexed[d] ? "1" : std::to_string(s.sizes[d]));
    offsets.push_back(s.indexed[d] ? absl::StrCat("%q", d) : "0");
    indices += s.indexed[d];
    if (s.dropped[d])
      continue;
    window.push_back(s.indexed[d] ? 1 : s.sizes[d]);
    whole.push_back(window.back());
    dims.push_back(absl::StrCat("d", dims.size()));
    inOfUpdates.push_back("0");
    sizesOfUpdates.push_back(std::to_string(window.back()));
  }
  std::string target = tensorOf(s.sizes, s.element), inner = tensorOf(window, s.element),
              updates = tensorOf(whole, s.element), list = tensorOf({s.count, indices}, s.index);
  std::string ones = absl::StrJoin(strides, ", ");
  absl::StrAppend(&text, "func.func @f(%t: ", target, ", %idx: ", list, ", %u: ", updates, ") -> ", target,
                  " {\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %n = arith.constant ", s.count,
                  " : index\n  %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %t) -> (", target,
                  ") {\n    %in = arith.constant true\n");
  std::string inside = "%in";
  for (size_t d = 0, column = 0; d < s.sizes.size(); ++d) {
    if (!s.indexed[d])
      continue;
    absl::StrAppend(&text, "    %k", d, " = arith.constant ", column++, " : index\n    %a", d, " = tensor.extract %idx[%i, %k", d,
                    "] : ", list, "\n    %p", d, " = arith.index_cast %a", d, " : ", s.index, " to index\n    %l", d,
                    " = arith.constant ", s.sizes[d] - 1, " : index\n    %b", d, " = arith.cmpi ule, %p", d, ", %l", d,
                    " : index\n    %in", d, " = arith.andi ", inside, ", %b", d, " : i1\n    %m", d, " = arith.minsi %p", d, ", %l",
                    d, " : index\n    %q", d, " = arith.maxsi %m", d, ", %c0 : index\n");
    inside = absl::StrCat("%in", d);
  }
  std::string slice = absl::StrCat("[", absl::StrJoin(offsets, ", "), "] [", absl::StrJoin(sizes, ", "), "] [", ones, "] : ");
  std::string map = absl::StrCat("affine_map<(", absl::StrJoin(dims, ", "), ") -> (", absl::StrJoin(dims, ", "), ")>");
  std::vector<std::string> parallel(dims.size(), "\"parallel\""), onesOfUpdates(whole.size(), "1");
  absl::StrAppend(&text, "    %was = tensor.extract_slice %old", slice, target, " to ", inner, "\n    %own = tensor.extract_slice %u[",
                  absl::StrJoin(inOfUpdates, ", "), "] [", absl::StrJoin(sizesOfUpdates, ", "), "] [",
                  absl::StrJoin(onesOfUpdates, ", "), "] : ", updates, " to ", inner,
                  "\n    %new = linalg.generic {indexing_maps = [", map, ", ", map, "], iterator_types = [",
                  absl::StrJoin(parallel, ", "), "]} ins(%own : ", inner, ") outs(%was : ", inner, ") {\n    ^bb0(%u_: ", s.element,
                  ", %o: ", s.element, "):\n", absl::StrCat("      %zero = arith.constant ", s.element[0] == 'i' ? "0" : "0.0", " : ", s.element, "\n"));
  std::string payload = payloadOf(s, dims.size());
  for (size_t at = 0; (at = payload.find("%u", at)) != std::string::npos; at += 3)
    payload.insert(at + 2, "_");
  absl::StrAppend(&text, payload, s.clamped ? "      %s = arith.select %in, %v, %o : " : "      %s = arith.select " + inside + ", %v, %o : ",
                  s.element, "\n      linalg.yield %s : ", s.element, "\n    } -> ", inner,
                  "\n    %put = tensor.insert_slice %new into %old", slice, inner, " into ", target, "\n    scf.yield %put : ", target,
                  "\n  }\n  return %r : ", target, "\n}\n");
  return text;
}

DrawnScatter drawScatter(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return int64_t(random() % count); };
  DrawnScatter s;
  s.count = std::array<int64_t, 8>{2, 255, 256, 257, 3 + below(60), 3 + below(60), 300 + below(300), 2}[below(8)];
  int64_t indexed = 1 + below(3), rank = indexed + below(3);
  for (int64_t d = 0; d < rank; ++d) {
    s.indexed.push_back(d < indexed);
    s.sizes.push_back(1 + below(d < indexed ? 9 : 6));
  }
  std::shuffle(s.indexed.begin(), s.indexed.end(), random);
  for (bool own : s.indexed)
    s.dropped.push_back(own && below(4) != 0);
  s.element = std::array<const char *, 9>{"f32", "f32", "f64", "f16", "bf16", "i8", "i32", "i64", "i1"}[below(9)];
  s.index = std::array<const char *, 3>{"i32", "i64", "i8"}[below(3)];
  s.payload = std::array<const char *, 6>{"add", "mul", "min", "select", "replace", "indexed"}[below(6)];
  s.clamped = below(3) == 0;
  return s;
}

// Places of few, or of all, and of some outside.
Buffers inputsOf(const DrawnScatter &s, Fragments &fragments, std::mt19937_64 &random) {
  Buffers inputs;
  for (Type type : fragments.inputs(0))
    inputs.push_back(randomTensor(type, random));
  size_t bytes = s.index == "i8" ? 1 : s.index == "i32" ? 4
                                                        : 8,
         at = 0;
  bool few = random() % 2;
  for (int64_t i = 0; i < s.count; ++i)
    for (size_t d = 0; d < s.sizes.size(); ++d) {
      if (!s.indexed[d])
        continue;
      int64_t place = int64_t(random() % (few ? std::min<int64_t>(s.sizes[d], 2) : s.sizes[d]));
      if (random() % 12 == 0)
        place = random() % 2 ? s.sizes[d] + int64_t(random() % 3) : -1 - int64_t(random() % 3);
      std::memcpy(&inputs[1][at], &place, bytes);
      at += bytes;
    }
  return inputs;
}

std::string findingOf(const DrawnScatter &s, uint64_t seed, std::map<Form, size_t> &forms, const Fragments::Change &change = {}) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(programOf(s));
  if (!module)
    return context.error;
  Fragments fragments(context, *module, change);
  if (!fragments.refusal.empty())
    return fragments.refusal;
  for (const auto &[symbol, shape] : fragments.cuda().shapes)
    ++forms[shape.form];
  std::mt19937_64 random(seed);
  return findingOf(fragments, 0, inputsOf(s, fragments, random), seed);
}

TEST(Scatters, HaveTheBitsOfTheHost) {
  std::map<Form, size_t> forms;
  Cases cases = casesOf(120);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    DrawnScatter s = drawScatter(random);
    EXPECT_EQ(findingOf(s, seed, forms), "") << "seed " << seed << "\n"
                                             << programOf(s);
  }
  std::cout << forms[Form::Scatter] << " by chains, " << forms[Form::Serial] << " of one thread\n";
  EXPECT_GE(forms[Form::Scatter], cases.count() * 9 / 10);
}

TEST(Scatters, OfVeryManyUpdates) {
  std::map<Form, size_t> forms;
  DrawnScatter s{65537, {40, 3}, {true, false}, {true, false}};
  s.payload = "select";
  EXPECT_EQ(findingOf(s, 1, forms), "");
  EXPECT_EQ(forms[Form::ScatterColumns], 1u);
  // One thread has the window.
  EXPECT_EQ(findingOf({65537, {40}, {true}, {true}}, 2, forms), "");
  EXPECT_EQ(forms[Form::Serial], 1u);
}

// A loop that reads what it has written, outside of the update too, is no such loop.
TEST(Scatters, AreNotThoseThatReadWhatTheyUpdate) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(R"(
func.func @f(%t: tensor<8x4xf32>, %idx: tensor<50xi32>, %u: tensor<50x4xf32>) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 50 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %t) -> (tensor<8x4xf32>) {
    %a = tensor.extract %idx[%i] : tensor<50xi32>
    %m = arith.constant 7 : i32
    %b = arith.andi %a, %m : i32
    %p = arith.index_cast %b : i32 to index
    %was = tensor.extract_slice %old[%p, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
    %first = tensor.extract %was[%c1] : tensor<4xf32>
    %own = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<50x4xf32> to tensor<4xf32>
    %new = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%own : tensor<4xf32>) outs(%was : tensor<4xf32>) {
    ^bb0(%x: f32, %o: f32):
      %d = arith.subf %x, %first : f32
      %s = arith.addf %d, %o : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %put = tensor.insert_slice %new into %old[%p, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32>
    scf.yield %put : tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
})");
  ASSERT_TRUE(module) << context.error;
  Fragments fragments(context, *module);
  ASSERT_EQ(fragments.refusal, "");
  std::mt19937_64 random(1);
  Buffers inputs;
  for (Type type : fragments.inputs(0))
    inputs.push_back(randomTensor(type, random));
  EXPECT_EQ(findingOf(fragments, 0, inputs, 1), "");
  std::map<Form, size_t> forms;
  for (const auto &[symbol, shape] : fragments.cuda().shapes)
    ++forms[shape.form];
  EXPECT_EQ(forms[Form::Serial], 1u);
  EXPECT_EQ(forms[Form::Scatter], 0u);
}

// 256 updates, so that no thread is left out, of ten places.
const DrawnScatter kPlanted{256, {10, 3}, {true, false}, {true, false}, "f32", "i32", "select"};

std::string findingOfPlanted(const Fragments::Change &change) {
  std::map<Form, size_t> forms;
  std::string finding = findingOf(kPlanted, 3, forms, change);
  EXPECT_EQ(forms[Form::Scatter], 1u);
  return finding;
}

LLVM::LLVMFuncOp kernelOf(ModuleOp kernels, StringRef ending) {
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
    if (function.getName().ends_with(ending))
      return function;
  return {};
}

TEST(ScatterFaults, NothingIsFoundWhereNothingIsWrong) { EXPECT_EQ(findingOfPlanted({}), ""); }

TEST(ScatterFaults, WhatAnotherLaneHasFoundAndNobodyHearsIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &) {
    SmallVector<LLVM::CallOp> shuffles;
    kernelOf(kernels, "_chain").walk([&](LLVM::CallOp call) {
      if (call.getCallee() && call.getCallee()->starts_with(cudaexport::kShuffleDown))
        shuffles.push_back(call);
    });
    EXPECT_EQ(shuffles.size(), 5u);
    for (LLVM::CallOp call : shuffles) {
      call.getResult().replaceAllUsesWith(call.getOperand(0));
      call.erase();
    }
  };
  EXPECT_NE(findingOfPlanted(change), "");
}

TEST(ScatterFaults, FirstUpdatesThatNobodyMarksAreFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    for (const auto &step : compiled.module.fragments[0].steps) {
      std::string symbol = std::get<plan::CudaLaunch>(step).kernel;
      if (!kernelOf(kernels, symbol + "_chain"))
        continue;
      SmallVector<LLVM::StoreOp> stores;
      kernelOf(kernels, symbol).walk([&](LLVM::StoreOp store) { stores.push_back(store); });
      ASSERT_EQ(stores.size(), 2u);
      OpBuilder builder(stores[1]);
      Value zero = LLVM::ConstantOp::create(builder, stores[1].getLoc(), builder.getI32IntegerAttr(0));
      stores[1].getValueMutable().assign(zero);
    }
  };
  EXPECT_NE(findingOfPlanted(change), "");
}

TEST(ScatterFaults, AnUpdateThatIsTakenForTheFirstOfItsPlaceIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &) {
    SmallVector<LLVM::StoreOp> stores;
    kernelOf(kernels, "_chain").walk([&](LLVM::StoreOp store) { stores.push_back(store); });
    ASSERT_EQ(stores.size(), 2u);
    OpBuilder builder(stores[1]);
    Value one = LLVM::ConstantOp::create(builder, stores[1].getLoc(), builder.getI32IntegerAttr(1));
    stores[1].getValueMutable().assign(one);
  };
  EXPECT_NE(findingOfPlanted(change), "");
}

TEST(ScatterFaults, ChainsThatEndTooEarlyAreFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &) {
    SmallVector<LLVM::StoreOp> stores;
    kernelOf(kernels, "_chain").walk([&](LLVM::StoreOp store) { stores.push_back(store); });
    ASSERT_EQ(stores.size(), 2u);
    OpBuilder builder(stores[0]);
    Value none = LLVM::ConstantOp::create(builder, stores[0].getLoc(), builder.getI32IntegerAttr(256));
    stores[0].getValueMutable().assign(none);
  };
  EXPECT_NE(findingOfPlanted(change), "");
}

TEST(ScatterFaults, ALaunchLeftOutIsFound) {
  for (int launch = 0; launch < 3; ++launch) {
    auto change = [&](ModuleOp, cudaexport::CompiledCuda &compiled) {
      auto &steps = compiled.module.fragments[0].steps;
      auto at = std::find_if(steps.begin(), steps.end(), [](const auto &step) {
        return absl::StrContains(std::get<plan::CudaLaunch>(step).kernel, "_chain");
      });
      ASSERT_NE(at, steps.end());
      steps.erase(at - 1 + launch);
    };
    EXPECT_NE(findingOfPlanted(change), "") << launch;
  }
}

} // namespace
