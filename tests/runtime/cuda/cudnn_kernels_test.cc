// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn convolutions by CudnnKernels on the fake cuDNN, and the same with faults in the calls that it
// gets. The reference shares no code with either.
#include "runtime/cuda/cudnn_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "ops/registry.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/drawn_convolution.h"
#include "tests/runtime/cuda/fake_cudnn.h"
#include "tests/runtime/cuda/library_run.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// So small that some engines need more.
constexpr uint64_t kWorkspace = 1024;

std::vector<KindOfLibrary> ConvolutionsBy(const CudnnApi &api) {
  return {{"convolution_", kWorkspace, [api] { return std::make_unique<CudnnKernels>(api); }}};
}

LibraryRun RunConvolutions(const std::vector<ops::KernelDesc> &kernels, uint64_t seed, uint64_t order,
                           const CudnnApi &api) {
  LibraryRun run = RunLibraryKernels(kernels, seed, order, ConvolutionsBy(api), CheckConvolutionOutput);
  if (LiveOfFakeCudnn() != 0 && run.wrong.empty()) run.wrong = "something of cuDNN is left";
  return run;
}

std::vector<ops::KernelDesc> DrawConvolutions(uint64_t seed, size_t count,
                                              ConvolutionOddity oddity = ConvolutionOddity::kNone) {
  std::mt19937_64 random(seed);
  std::vector<ops::KernelDesc> kernels;
  while (kernels.size() < count) {
    kernels.push_back(DrawConvolution(random, oddity));
    const absl::Status checked = ops::CheckKernel(kernels.back());
    EXPECT_TRUE(checked.ok()) << checked;
  }
  return kernels;
}

TEST(CudnnKernelsTest, DrawnConvolutionsAreThoseOfTheReference) {
  const Cases cases = casesOf(300);
  for (uint32_t seed = cases.first; seed < cases.end && !::testing::Test::HasFailure(); ++seed)
    EXPECT_EQ(RunConvolutions(DrawConvolutions(seed, 4), seed, seed, FakeCudnn()).wrong, "") << "seed " << seed;
}

// Also from run to run: an engine that is not deterministic is not taken.
TEST(CudnnKernelsTest, BitsDependOnTheKernelAlone) {
  const Cases cases = casesOf(40);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    const std::vector<ops::KernelDesc> kernels = DrawConvolutions(seed, 4);
    EXPECT_EQ(RunConvolutions(kernels, seed, 1, FakeCudnn()).outputs,
              RunConvolutions(kernels, seed, 2, FakeCudnn()).outputs);
  }
}

// Nothing is accepted and computed otherwise.
TEST(CudnnKernelsTest, WhatNoEngineComputesIsRefused) {
  const Cases cases = casesOf(60);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    for (auto oddity : {ConvolutionOddity::kGaps, ConvolutionOddity::kPadding}) {
      const absl::Status status =
          RunConvolutions(DrawConvolutions(seed, 1, oddity), seed, seed, FakeCudnn()).status;
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(": cuDNN has no engine for it: "));
      EXPECT_THAT(std::string(status.message()), HasSubstr(oddity == ConvolutionOddity::kGaps ? "LAYOUT" : "PADDING"));
    }
  }
}

TEST(CudnnKernelsTest, SaysWhichKernelIsRefused) {
  const auto refused = [](const ops::KernelDesc &kernel) {
    EXPECT_TRUE(ops::CheckKernel(kernel).ok());
    const absl::Status status = PrepareStatus(kernel, ConvolutionsBy(FakeCudnn()));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_EQ(LiveOfFakeCudnn(), 0u);
    return std::string(status.message());
  };
  using Operand = ops::KernelOperand;
  const auto f32 = ops::Element::kF32, f16 = ops::Element::kF16, i32 = ops::Element::kI32;
  const Operand x{f32, {1, 1, 4}, {4, 4, 1}}, w{f32, {1, 1, 2}, {2, 2, 1}}, y{f32, {1, 1, 3}, {3, 3, 1}};
  EXPECT_EQ(refused({"convolution_forward",
                     {Operand{f32, {1, 1, 4}, {4, 4, 0}}, w, y},
                     {},
                     false}),
            "kernel 1, convolution_forward f32[1,1,4](4,4,0) x f32[1,1,2] = f32[1,1,3]: operands must not repeat "
            "elements");
  EXPECT_EQ(refused({"convolution_forward",
                     {x, w, Operand{f32, {1, 1, 4}, {4, 4, 1}}},
                     {{"pad_high", {1}}},
                     true}),
            "kernel 1, convolution_forward f32[1,1,4] x f32[1,1,2] += f32[1,1,4] pad_high=1: cuDNN has no engine for "
            "it: 10 proposed, 2 not deterministic, 4 of less precision, 4 refused by CUDNN_STATUS_NOT_SUPPORTED_PADDING");
  EXPECT_THAT(refused({"convolution_forward", {Operand{f16, {1, 1, 4}, {4, 4, 1}}, w, y}, {}, false}),
              HasSubstr("element types must be f64, f32, f16 or bf16, the same of all, or f32 of the output"));
  EXPECT_THAT(refused({"convolution_forward",
                       {Operand{i32, {1, 1, 4}, {4, 4, 1}}, Operand{i32, {1, 1, 2}, {2, 2, 1}},
                        Operand{i32, {1, 1, 3}, {3, 3, 1}}},
                       {},
                       false}),
              HasSubstr("element types must be "));
  EXPECT_THAT(refused({"convolution_forward",
                       {Operand{f32, {3, 1, 4}, {4, 4, 1}}, w, Operand{f32, {3, 1, 3}, {2, 1, 1}}},
                       {},
                       false}),
              HasSubstr("elements of the output must not overlap"));
  EXPECT_THAT(refused({"matmul",
                       {Operand{f32, {2, 3}, {3, 1}}, Operand{f32, {3, 4}, {4, 1}}, Operand{f32, {2, 4}, {4, 1}}},
                       {},
                       false}),
              HasSubstr("there is no kernel of this kind for CUDA devices"));
}

// What is done to a call on its way to the library.
enum class CudnnFault {
  kNone,
  kTensorStrides,  // of the source: as if there were a row more
  kStride,         // the first stride is one more
  kDilation,       // so is the dilation
  kPadding,        // one row more in front, one less behind
  kBothPaddings,   // one row more in front and behind
  kFlipped,        // the window is flipped
  kBeta,           // what is added to is forgotten
  kSwapped,        // the two inputs are in each other's place
  kIds,            // an input is where the output is, and the output where the input is
  kWorkspace,      // a workspace that is too small is said to do
  kOneForAll,      // all streams have the first one's workspace
  kAlignment,      // each address is said to be aligned
  kPrecision,      // notes about precision are not seen
  kDeterminism     // the note about determinism is not seen
};
CudnnFault cudnn_fault = CudnnFault::kNone;
int faults_applied = 0;
void *first_pack_workspace = nullptr;  // workspace

int FaultyCudnnSet(CudnnDescriptor of, int name, int type, int64_t count, const void *values) {
  std::vector<int64_t> numbers;
  if (type == kCudnnInt64Type || type == kCudnnPointerType) {
    numbers.resize(size_t(count));
    std::memcpy(numbers.data(), values, 8 * size_t(count));
  }
  const auto add = [&](int attribute, int64_t more) {
    if (name != attribute || numbers[0] + more < 0) return;
    numbers[0] += more;
    ++faults_applied;
  };
  switch (cudnn_fault) {
    case CudnnFault::kTensorStrides:
      if (name == kTensorStrides) numbers[0] += numbers[2], ++faults_applied;
      break;
    case CudnnFault::kStride: add(kConvolutionStrides, 1); break;
    case CudnnFault::kDilation: add(kConvolutionDilations, 1); break;
    case CudnnFault::kPadding: add(kConvolutionPadLow, 1), add(kConvolutionPadHigh, -1); break;
    case CudnnFault::kBothPaddings: add(kConvolutionPadLow, 1), add(kConvolutionPadHigh, 1); break;
    case CudnnFault::kFlipped:
      if (name == kConvolutionMode) {
        const int mode = 1 - kCudnnCrossCorrelation;
        ++faults_applied;
        return FakeCudnn().DescriptorSet(of, name, type, count, &mode);
      }
      break;
    case CudnnFault::kBeta:
      if (type == kCudnnFloatType || type == kCudnnDoubleType) {
        const double zero = 0;
        if (name % 6 != 5 || std::memcmp(&zero, values, type == kCudnnDoubleType ? 8 : 4) == 0) break;
        ++faults_applied;
        return FakeCudnn().DescriptorSet(of, name, type, count, &zero);
      }
      break;
    case CudnnFault::kSwapped:
      if (name == kPackPointers && numbers[0] != numbers[1]) std::swap(numbers[0], numbers[1]), ++faults_applied;
      break;
    case CudnnFault::kIds:
      if (name == kPackIds) std::swap(numbers[0], numbers[2]), ++faults_applied;
      break;
    case CudnnFault::kOneForAll:
      if (name != kPackWorkspace) break;
      if (first_pack_workspace == nullptr) first_pack_workspace = reinterpret_cast<void *>(numbers[0]);
      faults_applied += first_pack_workspace != reinterpret_cast<void *>(numbers[0]);
      numbers[0] = int64_t(reinterpret_cast<uintptr_t>(first_pack_workspace));
      break;
    case CudnnFault::kAlignment:
      if (name == kTensorAlignment && numbers[0] < 16) numbers[0] = 16, ++faults_applied;
      break;
    default: break;
  }
  return FakeCudnn().DescriptorSet(of, name, type, count, numbers.empty() ? values : numbers.data());
}
int FaultyCudnnGet(CudnnDescriptor of, int name, int type, int64_t most, int64_t *count, void *values) {
  const int result = FakeCudnn().DescriptorGet(of, name, type, most, count, values);
  if (cudnn_fault == CudnnFault::kWorkspace && name == kPlanWorkspaceBytes) {
    int64_t *bytes = static_cast<int64_t *>(values);
    // Not that of an engine which would need all memory there is.
    if (*bytes > int64_t(kWorkspace) && *bytes < int64_t{1} << 30) *bytes = int64_t(kWorkspace), ++faults_applied;
  }
  if (name == kEngineNotes && values != nullptr) {
    int *notes = static_cast<int *>(values);
    for (int64_t i = 0; i < *count; ++i) {
      const bool hidden = cudnn_fault == CudnnFault::kDeterminism ? notes[i] == kNoteNondeterministic
                          : cudnn_fault == CudnnFault::kPrecision ? notes[i] != kNoteNondeterministic
                                                                  : false;
      if (hidden && notes[i] != kNoteStrictNan) notes[i] = kNoteStrictNan, ++faults_applied;
    }
  }
  return result;
}
CudnnApi FaultyCudnn() {
  CudnnApi api = FakeCudnn();
  api.DescriptorSet = FaultyCudnnSet;
  api.DescriptorGet = FaultyCudnnGet;
  return api;
}

// Each alone, where it is faults_applied.
TEST(CudnnKernelsTest, PlantedFaultsAreFound) {
  const std::pair<CudnnFault, const char *> faults[] = {
      {CudnnFault::kTensorStrides, "strides of a tensor"},
      {CudnnFault::kStride, "stride"},
      {CudnnFault::kDilation, "dilation"},
      {CudnnFault::kPadding, "padding"},
      {CudnnFault::kBothPaddings, "both paddings"},
      {CudnnFault::kFlipped, "flipped window"},
      {CudnnFault::kBeta, "beta"},
      {CudnnFault::kSwapped, "swapped inputs"},
      {CudnnFault::kIds, "swapped ids"},
      {CudnnFault::kWorkspace, "workspace"},
      {CudnnFault::kOneForAll, "one workspace"},
      {CudnnFault::kAlignment, "alignment"},
      {CudnnFault::kPrecision, "precision"},
      {CudnnFault::kDeterminism, "determinism"}};
  const Cases cases = casesOf(150);
  for (const auto &[each, name] : faults) {
    int tried = 0, found = 0;
    for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
      // Two kernels where it is about two, or about two runs.
      const size_t count = each == CudnnFault::kOneForAll ? 2 : 1;
      const std::vector<ops::KernelDesc> kernels = DrawConvolutions(seed, count);
      cudnn_fault = each;
      faults_applied = 0;
      first_pack_workspace = nullptr;
      LibraryRun run = RunConvolutions(kernels, seed, seed, FaultyCudnn());
      // What is right once may be wrong the next time.
      for (int again = 0; each == CudnnFault::kDeterminism && again < 2 && run.wrong.empty(); ++again)
        run.wrong = RunConvolutions(kernels, seed, seed, FaultyCudnn()).wrong;
      cudnn_fault = CudnnFault::kNone;
      if (faults_applied == 0) continue;
      ++tried;
      found += !run.wrong.empty();
    }
    std::printf("%s: %d of %d found\n", name, found, tried);
    EXPECT_GT(tried, cases.count() < 150 ? 0 : 5) << name;
    EXPECT_GT(found, 0) << name;
    // Others may be right all the same: the stride of a single element, a window of one, an engine that needs no
    // workspace.
    if (each == CudnnFault::kWorkspace || each == CudnnFault::kAlignment || each == CudnnFault::kPadding) {
      EXPECT_EQ(found, tried) << name;
    }
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
