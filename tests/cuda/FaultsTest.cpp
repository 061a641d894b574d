// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of this folder find kernels and launches in which something is wrong.

#include "tests/cuda/Fragments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

constexpr const char *kSumOfRows = R"(
func.func @f(%x: tensor<3x5000xf32>, %init: tensor<3xf32>) -> tensor<3xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x5000xf32>) outs(%init : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<3xf32>
  return %r : tensor<3xf32>
})";
constexpr const char *kSumOfColumns = R"(
func.func @f(%x: tensor<100x40xf32>, %init: tensor<40xf32>) -> tensor<40xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<100x40xf32>) outs(%init : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<40xf32>
  return %r : tensor<40xf32>
})";
constexpr const char *kLargeSum = R"(
func.func @f(%x: tensor<100000xf32>, %init: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<100000xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %a : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  return %r : tensor<f32>
})";

/// What is found in `program` with `change`; empty if nothing.
std::string findingOf(const char *program, const Fragments::Change &change) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(program);
  EXPECT_TRUE(module) << context.error;
  Fragments fragments(context, *module, change);
  EXPECT_EQ(fragments.refusal, "");
  std::mt19937_64 random(1);
  Buffers inputs;
  for (Type type : fragments.inputs(0))
    inputs.push_back(randomTensor(type, random));
  Buffers host = fragments.runOnHost(0, inputs), first;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::string fault;
    Buffers found = fragments.emulate(0, inputs, seed, fault);
    if (!fault.empty())
      return fault;
    if (seed == 0)
      first = found;
    for (auto [i, type] : llvm::enumerate(fragments.outputs(0))) {
      if (compare(type, host[i], found[i]).relative > 1e-5)
        return "differs from the host";
      if (found[i] != first[i])
        return "depends on the order of threads";
    }
  }
  return "";
}

void eraseCalls(ModuleOp kernels, StringRef name) {
  SmallVector<LLVM::CallOp> calls;
  kernels.walk([&](LLVM::CallOp call) {
    if (call.getCallee() == name)
      calls.push_back(call);
  });
  EXPECT_FALSE(calls.empty());
  for (LLVM::CallOp call : calls)
    call.erase();
}

TEST(Faults, NothingIsFoundWhereNothingIsWrong) {
  for (const char *program : {kSumOfRows, kSumOfColumns, kLargeSum})
    EXPECT_EQ(findingOf(program, {}), "");
}

TEST(Faults, AMissingBarrierIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &) { eraseCalls(kernels, "cs_barrier"); };
  EXPECT_NE(findingOf(kSumOfRows, change), "");
  EXPECT_NE(findingOf(kSumOfColumns, change), "");
}

TEST(Faults, AWrongOffsetIsFound) {
  auto change = [](ModuleOp, cudaexport::CompiledCuda &compiled) {
    std::get<plan::CudaLaunch>(compiled.module.fragments[0].steps.back()).arguments[0].offset += 4;
  };
  EXPECT_EQ(findingOf(kSumOfRows, change), "differs from the host");
}

TEST(Faults, ALaunchLeftOutIsFound) {
  auto change = [](ModuleOp, cudaexport::CompiledCuda &compiled) {
    compiled.module.fragments[0].steps.pop_back();
  };
  EXPECT_EQ(findingOf(kLargeSum, change), "differs from the host");
}

// Partial results in one place: the block that comes last is what counts.
TEST(Faults, ASumThatDependsOnTheOrderOfBlocksIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &) {
    for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() || function.getName().ends_with("_finish"))
        continue;
      SmallVector<LLVM::StoreOp> stores;
      function.walk([&](LLVM::StoreOp store) { stores.push_back(store); });
      for (LLVM::StoreOp store : stores) {
        Value partials = function.getArgument(function.getNumArguments() - 1);
        OpBuilder builder(store);
        Value before = LLVM::LoadOp::create(builder, store.getLoc(), store.getValue().getType(), partials);
        Value sum = LLVM::FAddOp::create(builder, store.getLoc(), before, store.getValue());
        LLVM::StoreOp::create(builder, store.getLoc(), sum, partials);
        store.erase();
      }
    }
  };
  EXPECT_NE(findingOf(kLargeSum, change), "");
}

// A wrong number of threads takes terms twice or never.
TEST(Faults, AWrongBlockIsFound) {
  auto change = [](ModuleOp, cudaexport::CompiledCuda &compiled) {
    for (auto &step : compiled.module.fragments[0].steps)
      std::get<plan::CudaLaunch>(step).block[0] /= 2;
  };
  EXPECT_NE(findingOf(kSumOfRows, change), "");
}

} // namespace
