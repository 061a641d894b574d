// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn products by CublasLtKernels on the fake cuBLASLt, and the same with faults in the calls that it
// gets. The reference shares no code with either.
#include "runtime/cuda/cublaslt_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/drawn_product.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/library_run.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::HasSubstr;

// What is done to a call on its way to the library.
enum class CallFault {
  kNone,
  kOrder,      // A is taken as its transpose
  kLeading,    // B has one more between its columns
  kBatch,      // so has D between its matrices
  kRepeat,     // B's matrices are the first one
  kBeta,       // what is added to is forgotten
  kWorkspace,  // half of it
  kOneForAll,  // all streams have the first one's workspace
  kAlignment,  // that of addresses is not said
  kReduction,  // nor which reductions do
  kCalls,      // A is where the first call has it
};
CallFault call_fault = CallFault::kNone;
int applied = 0;  // how often
void *first_workspace = nullptr;
int products = 0;  // of this kernel
const void *first_a = nullptr;

std::set<CublasLtOperation> scaled_by_f64;
int FaultyOperationCreate(CublasLtOperation *made, int compute, int scale) {
  const int result = FakeCublasLt().OperationCreate(made, compute, scale);
  scaled_by_f64.erase(*made);  // that of another one which is gone
  if (scale == kCudaF64) scaled_by_f64.insert(*made);
  return result;
}
int FaultyOperationSet(CublasLtOperation of, int attribute, const void *value, size_t bytes) {
  int32_t transposed = 0;
  std::memcpy(&transposed, value, sizeof(transposed));
  if (call_fault == CallFault::kOrder && attribute == kOperationTransposeA) transposed = 1 - transposed, ++applied;
  return FakeCublasLt().OperationSet(of, attribute, &transposed, bytes);
}
int layouts_made = 0;  // made for this kernel: A, B, D
std::vector<CublasLtLayout> output_layouts, second_layouts;
int FaultyLayoutCreate(CublasLtLayout *made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  const int which = layouts_made++ % 3;
  if (call_fault == CallFault::kLeading && which == 1 && columns > 1) ++leading, ++applied;
  const int result = FakeCublasLt().LayoutCreate(made, type, rows, columns, leading);
  if (which == 1) second_layouts.push_back(*made);
  if (which == 2) output_layouts.push_back(*made);
  return result;
}
bool Has(const std::vector<CublasLtLayout> &some, CublasLtLayout one) {
  return std::find(some.begin(), some.end(), one) != some.end();
}
int FaultyLayoutSet(CublasLtLayout of, int attribute, const void *value, size_t bytes) {
  int64_t stride = 0;
  if (attribute != kLayoutBatchStride) return FakeCublasLt().LayoutSet(of, attribute, value, bytes);
  std::memcpy(&stride, value, sizeof(stride));
  if (call_fault == CallFault::kBatch && Has(output_layouts, of)) ++stride, ++applied;
  if (call_fault == CallFault::kRepeat && Has(second_layouts, of) && stride != 0) stride = 0, ++applied;
  return FakeCublasLt().LayoutSet(of, attribute, &stride, bytes);
}
int FaultyPreferenceSet(CublasLtPreference of, int attribute, const void *value, size_t bytes) {
  if (call_fault == CallFault::kReduction && attribute == kPreferenceReductions) {
    ++applied;
    return 0;
  }
  if (call_fault == CallFault::kAlignment && attribute >= kPreferenceAlignmentA) {
    uint32_t said = 0;
    std::memcpy(&said, value, sizeof(said));
    applied += said < 256;
    return 0;
  }
  return FakeCublasLt().PreferenceSet(of, attribute, value, bytes);
}
int FaultyMatmul(CublasLtHandle handle, CublasLtOperation operation, const void *alpha, const void *a,
                 CublasLtLayout a_layout, const void *b, CublasLtLayout b_layout, const void *beta,
                 const void *c, CublasLtLayout c_layout, void *d, CublasLtLayout d_layout,
                 const CublasLtAlgorithm *algorithm, void *workspace, size_t bytes, Stream stream) {
  static constexpr double zero = 0;  // as a float, too
  const bool adds = scaled_by_f64.contains(operation) ? *static_cast<const double *>(beta) != 0
                                                      : *static_cast<const float *>(beta) != 0;
  if (call_fault == CallFault::kBeta && adds) beta = &zero, ++applied;
  if (call_fault == CallFault::kWorkspace && bytes != 0) bytes /= 2, ++applied;
  if (call_fault == CallFault::kOneForAll && workspace != nullptr) {
    if (first_workspace == nullptr) first_workspace = workspace;
    applied += workspace != first_workspace;
    workspace = first_workspace;
  }
  // The first is on zeros.
  const int product = products++;
  if (product == 1) first_a = a;
  if (call_fault == CallFault::kCalls && product > 1 && a != first_a) a = first_a, ++applied;
  return FakeCublasLt().Matmul(handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                               d_layout, algorithm, workspace, bytes, stream);
}
CublasLtApi FaultyApi() {
  CublasLtApi api = FakeCublasLt();
  api.OperationCreate = FaultyOperationCreate;
  api.OperationSet = FaultyOperationSet;
  api.LayoutCreate = FaultyLayoutCreate;
  api.LayoutSet = FaultyLayoutSet;
  api.PreferenceSet = FaultyPreferenceSet;
  api.Matmul = FaultyMatmul;
  return api;
}

std::vector<KindOfLibrary> ProductsBy(const CublasLtApi &api) {
  return {{"matmul", kProductWorkspaceBytes, [api] { return std::make_unique<CublasLtKernels>(api); }}};
}

// Some kernels, on two streams by turns.
LibraryRun RunKernels(const std::vector<ops::KernelDesc> &kernels, uint64_t seed, uint64_t order,
                      const CublasLtApi &api) {
  LibraryRun run = RunLibraryKernels(kernels, seed, order, ProductsBy(api), CheckProduct);
  if (LiveOfFakeCublasLt() != 0 && run.wrong.empty()) run.wrong = "something of cuBLASLt is left";
  return run;
}

std::vector<ops::KernelDesc> DrawKernels(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<ops::KernelDesc> kernels;
  while (kernels.size() < count) {
    kernels.push_back(DrawProduct(random));
    const absl::Status checked = ops::CheckKernel(kernels.back());
    EXPECT_TRUE(checked.ok()) << checked;
  }
  return kernels;
}

TEST(CublasLtKernelsTest, DrawnProductsAreThoseOfTheReference) {
  const Cases cases = casesOf(300);
  for (uint32_t seed = cases.first; seed < cases.end && !::testing::Test::HasFailure(); ++seed)
    EXPECT_EQ(RunKernels(DrawKernels(seed, 4), seed, seed, FakeCublasLt()).wrong, "") << "seed " << seed;
}

TEST(CublasLtKernelsTest, BitsDependOnTheKernelAlone) {
  const Cases cases = casesOf(40);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    const std::vector<ops::KernelDesc> kernels = DrawKernels(seed, 4);
    EXPECT_EQ(RunKernels(kernels, seed, 1, FakeCublasLt()).outputs,
              RunKernels(kernels, seed, 2, FakeCublasLt()).outputs);
  }
}

TEST(CublasLtKernelsTest, SaysWhichKernelIsRefused) {
  const auto refused = [](const ops::KernelDesc &kernel) {
    EXPECT_TRUE(ops::CheckKernel(kernel).ok());
    const absl::Status status = PrepareStatus(kernel, ProductsBy(FakeCublasLt()));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    return std::string(status.message());
  };
  using Operand = ops::KernelOperand;
  const auto f32 = ops::Element::kF32, f16 = ops::Element::kF16, i32 = ops::Element::kI32;
  const Operand a{f32, {2, 3}, {3, 1}}, b{f32, {3, 4}, {4, 1}}, c{f32, {2, 4}, {4, 1}};
  EXPECT_EQ(refused({"matmul", {a, Operand{f32, {3, 4}, {8, 2}}, c}, {}, false}),
            "kernel 1, matmul f32[2,3] x f32[3,4](8,2) = f32[2,4]: each matrix must have rows or columns whose "
            "elements lie one behind the other");
  EXPECT_THAT(refused({"matmul", {a, Operand{f32, {3, 4}, {0, 1}}, c}, {}, true}),
              HasSubstr("kernel 1, matmul f32[2,3] x f32[3,4](0,1) += f32[2,4]: each matrix must "));
  EXPECT_THAT(refused({"matmul", {a, b, Operand{f32, {2, 4}, {3, 1}}}, {}, false}),
              HasSubstr("elements of the output must not overlap"));
  EXPECT_THAT(refused({"matmul", {Operand{f16, {2, 3}, {3, 1}}, b, c}, {}, false}),
              HasSubstr("element types must be "));
  EXPECT_THAT(refused({"matmul",
                       {Operand{i32, {2, 3}, {3, 1}}, Operand{i32, {3, 4}, {4, 1}}, Operand{i32, {2, 4}, {4, 1}}},
                       {},
                       false}),
              HasSubstr("kernel 1, matmul i32[2,3] x i32[3,4] = i32[2,4]: element types must be "));
  const int64_t many = int64_t(kMostMatmulCalls) + 1;
  EXPECT_THAT(refused({"matmul",
                       {Operand{f32, {many, many, 1, 1}, {many, 1, 1, 1}},
                        Operand{f32, {many, many, 1, 1}, {0, 0, 1, 1}},
                        Operand{f32, {many, many, 1, 1}, {many, 1, 1, 1}}},
                       {},
                       false}),
              HasSubstr("all batch dimensions but the largest must be of at most 4096 matrices"));
  EXPECT_THAT(refused({"convolution_forward",
                       {Operand{f32, {1, 1, 4}, {4, 4, 1}}, Operand{f32, {1, 1, 2}, {2, 2, 1}},
                        Operand{f32, {1, 1, 3}, {3, 3, 1}}},
                       {},
                       false}),
              HasSubstr("kernel 1, convolution_forward f32[1,1,4] x f32[1,1,2] = f32[1,1,3]: there is no kernel of "
                        "this kind for CUDA devices"));
}

// Each alone, where it is applied.
TEST(CublasLtKernelsTest, PlantedFaultsAreFound) {
  const std::pair<CallFault, const char *> faults[] = {
      {CallFault::kOrder, "order"},
      {CallFault::kLeading, "leading dimension"},
      {CallFault::kBatch, "batch stride"},
      {CallFault::kRepeat, "batch stride 0"},
      {CallFault::kBeta, "beta"},
      {CallFault::kWorkspace, "workspace"},
      {CallFault::kOneForAll, "one workspace"},
      {CallFault::kAlignment, "alignment"},
      {CallFault::kReduction, "reduction"},
      {CallFault::kCalls, "calls"}};
  const Cases cases = casesOf(100);
  for (const auto &[each, name] : faults) {
    int tried = 0, found = 0;
    // Whatever the values are.
    const bool rejected = each == CallFault::kWorkspace || each == CallFault::kOneForAll ||
                          each == CallFault::kAlignment;
    for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
      // Two kernels where it is about two.
      const size_t count = each == CallFault::kOneForAll ? 2 : 1;
      const std::vector<ops::KernelDesc> kernels = DrawKernels(seed, count);
      call_fault = each;
      applied = layouts_made = products = 0;
      output_layouts.clear(), second_layouts.clear();
      first_workspace = nullptr, first_a = nullptr;
      const std::string wrong = RunKernels(kernels, seed, seed, FaultyApi()).wrong;
      call_fault = CallFault::kNone;
      if (applied == 0) continue;
      ++tried;
      found += !wrong.empty();
    }
    std::printf("%s: %d of %d found\n", name, found, tried);
    EXPECT_GT(tried, cases.count() < 100 ? 0 : 5) << name;
    if (each == CallFault::kReduction)  // only some results are then rounded to something else
      EXPECT_GT(found, 0) << name;
    else if (rejected)
      EXPECT_EQ(found, tried) << name;
    else  // a product may come out as it should by chance, as that of one number
      EXPECT_GE(found, tried * 9 / 10) << name;
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
