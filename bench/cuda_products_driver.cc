// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_products_driver PLAN... [--algorithms N] [--most-gflop G]: how long the products of plans take on a CUDA device by
// each of the first N algorithms (by default 8) that cuBLASLt proposes, in the order in which it proposes them, on
// operands of zeros. Each is run 10 times, all enqueued before the device may begin; the shortest of 3 times counts.
//
// A JSON object for each product, once, whichever plans have it: "product", "gflop", and of each workspace limit (0, 4, 32 MiB)
// a list of algorithms: id, tile, split (into how many parts sums are), scheme, swizzle, custom, stages, inner, cluster, "bytes" of
// workspace, "waves" as cuBLASLt estimates, and "us" (-1: it could not run).
// Ends with 77, and one line that says why, where there is no device.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "bench/cuda_bench.h"
#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/matmul_layout.h"
#include "runtime/program/program.h"

namespace {

using namespace commsched::runtime;
using namespace commsched::bench;
namespace cuda = commsched::runtime::cuda;
namespace ops = commsched::ops;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kLimits[] = {0, uint64_t{4} << 20, uint64_t{32} << 20};
constexpr uint32_t kAlignment = 16;  // of all operands: what vectors of elements need
constexpr int kRuns = 10, kRounds = 3, kMostAlgorithms = 64;
// cublasLtMatmulAlgoConfigAttributes_t.
constexpr const char *kNames[] = {"id", "tile", "split", "scheme", "swizzle", "custom", "stages", "inner", "cluster"};
using GetConfig = int (*)(const cuda::CublasLtAlgorithm *, int attribute, void *, size_t bytes, size_t *written);

struct Descriptors {
  cuda::CublasLtOperation operation = nullptr;
  cuda::CublasLtLayout a = nullptr, b = nullptr, d = nullptr;
};

class Products {
 public:
  Products(CudaBench &bench, int algorithms) : bench_(bench), algorithms_(algorithms) {
    auto api = cuda::LoadCublasLt();
    if (!api.ok()) End(std::string(api.status().message()));
    api_ = *api;
    for (const char *file : {"libcublasLt.so.13", "libcublasLt.so.12"})
      if (void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL); library != nullptr && config_ == nullptr)
        config_ = reinterpret_cast<GetConfig>(dlsym(library, "cublasLtMatmulAlgoConfigGetAttribute"));
    Check(api_.Create(&handle_), "cublasLtCreate");
    workspace_ = bench_.Allocate(kLimits[2]);
    void *flag = nullptr;
    bench_.Check(bench_.driver().MemHostAlloc(&flag, sizeof(uint32_t), 0), "cuMemHostAlloc");
    gate_ = static_cast<uint32_t *>(flag);
    __atomic_store_n(gate_, 0, __ATOMIC_RELEASE);
  }

  void Time(const ops::KernelDesc &kernel, const cuda::MatmulLayout &layout);

 private:
  void Check(int status, const char *what) const {
    if (status != cuda::kCublasSuccess) End(bench_.where() + what + ": " + api_.GetStatusName(status));
  }
  Descriptors Describe(const cuda::MatmulLayout &layout) const;
  void Release(const Descriptors &made) const;
  std::vector<cuda::CublasLtHeuristic> Proposed(const Descriptors &of, uint64_t limit) const;
  int Enqueue(const Descriptors &of, const cuda::CublasLtHeuristic &by, cuda::DevicePtr a, cuda::DevicePtr b,
              cuda::DevicePtr d) const;
  template <typename Run>
  double SecondsOf(Run run, int count);

  CudaBench &bench_;
  const int algorithms_;
  cuda::CublasLtApi api_;
  GetConfig config_ = nullptr;
  cuda::CublasLtHandle handle_ = nullptr;
  cuda::DevicePtr workspace_ = 0;
  uint32_t *gate_ = nullptr;  // the device waits until it is as large as the last turn
  uint32_t turn_ = 0;
};

Descriptors Products::Describe(const cuda::MatmulLayout &layout) const {
  Descriptors made;
  Check(api_.OperationCreate(&made.operation, cuda::kCublasComputeF32, cuda::kCudaF32), "cublasLtMatmulDescCreate");
  for (const auto &[attribute, matrix] : {std::pair(cuda::kOperationTransposeA, &layout.a),
                                          std::pair(cuda::kOperationTransposeB, &layout.b)}) {
    const int32_t value = matrix->transposed ? cuda::kCublasTransposed : cuda::kCublasAsItIs;
    Check(api_.OperationSet(made.operation, attribute, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
  }
  for (const auto &[own, matrix] :
       {std::pair(&made.a, &layout.a), std::pair(&made.b, &layout.b), std::pair(&made.d, &layout.d)}) {
    Check(api_.LayoutCreate(own, cuda::kCudaF32, matrix->rows, matrix->columns, matrix->leading),
          "cublasLtMatrixLayoutCreate");
    if (layout.batch == 1) continue;
    Check(api_.LayoutSet(*own, cuda::kLayoutBatchCount, &layout.batch, sizeof(layout.batch)), "batch count");
    Check(api_.LayoutSet(*own, cuda::kLayoutBatchStride, &matrix->batch_stride, sizeof(matrix->batch_stride)),
          "batch stride");
  }
  return made;
}

void Products::Release(const Descriptors &made) const {
  for (cuda::CublasLtLayout layout : {made.a, made.b, made.d}) api_.LayoutDestroy(layout);
  api_.OperationDestroy(made.operation);
}

std::vector<cuda::CublasLtHeuristic> Products::Proposed(const Descriptors &of, uint64_t limit) const {
  cuda::CublasLtPreference preference = nullptr;
  Check(api_.PreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const auto set = [&](int attribute, auto value) {
    Check(api_.PreferenceSet(preference, attribute, &value, sizeof(value)), "cublasLtMatmulPreferenceSetAttribute");
  };
  set(cuda::kPreferenceWorkspaceBytes, limit);
  set(cuda::kPreferenceReductions, cuda::kReductionInComputeType);
  for (int attribute : {cuda::kPreferenceAlignmentA, cuda::kPreferenceAlignmentB, cuda::kPreferenceAlignmentC,
                        cuda::kPreferenceAlignmentD})
    set(attribute, kAlignment);
  std::vector<cuda::CublasLtHeuristic> found(size_t(algorithms_), cuda::CublasLtHeuristic{});
  int count = 0;
  if (api_.GetHeuristic(handle_, of.operation, of.a, of.b, of.d, of.d, preference, algorithms_, found.data(), &count) !=
      cuda::kCublasSuccess)
    count = 0;
  api_.PreferenceDestroy(preference);
  found.resize(size_t(count));
  return found;
}

int Products::Enqueue(const Descriptors &of, const cuda::CublasLtHeuristic &by, cuda::DevicePtr a, cuda::DevicePtr b,
                      cuda::DevicePtr d) const {
  const float one = 1, zero = 0;
  const auto at = [](cuda::DevicePtr where) { return reinterpret_cast<void *>(where); };
  return api_.Matmul(handle_, of.operation, &one, at(a), of.a, at(b), of.b, &zero, at(d), of.d, at(d), of.d, &by.algorithm,
                     at(workspace_), by.workspace_bytes, bench_.stream());
}

template <typename Run>
double Products::SecondsOf(Run run, int count) {
  double shortest = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    bench_.Check(bench_.driver().StreamWaitValue32(bench_.stream(), reinterpret_cast<cuda::DevicePtr>(gate_), ++turn_,
                                                   cuda::kWaitValueGreaterEqual),
                 "cuStreamWaitValue32");
    for (int i = 0; i < count; ++i) run();
    bench_.RecordEvent();
    const Clock::time_point begin = Clock::now();
    __atomic_store_n(gate_, turn_, __ATOMIC_RELEASE);
    bench_.WaitForEvent(/*spin=*/true);
    shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return shortest;
}

void Products::Time(const ops::KernelDesc &kernel, const cuda::MatmulLayout &layout) {
  bench_.set_where(cuda::DescribeKernel(kernel) + ": ");
  cuda::DevicePtr at[3];
  for (size_t i = 0; i < 3; ++i) {
    uint64_t extent = 1;
    const ops::KernelOperand &operand = kernel.operands[i];
    for (size_t d = 0; d < operand.dims.size(); ++d) extent += uint64_t(operand.dims[d] - 1) * uint64_t(operand.strides[d]);
    at[i] = bench_.Allocate(extent * sizeof(float));
    bench_.Check(bench_.driver().MemsetD8Async(at[i], 0, extent * sizeof(float), bench_.stream()), "cuMemsetD8Async");
  }
  bench_.Wait();
  const Descriptors made = Describe(layout);
  double flops = 2.0 * double(kernel.operands[0].dims.back());
  for (int64_t dim : kernel.operands.back().dims) flops *= double(dim);
  const double nothing = SecondsOf([] {}, 0);
  std::printf("{\"product\": \"%s\", \"gflop\": %.6f, \"limits\": {", cuda::DescribeKernel(kernel).c_str(), flops * 1e-9);
  for (uint64_t limit : kLimits) {
    std::printf("%s\"%u\": [", limit == 0 ? "" : ", ", unsigned(limit >> 20));
    const std::vector<cuda::CublasLtHeuristic> proposed = Proposed(made, limit);
    for (size_t i = 0; i < proposed.size(); ++i) {
      const cuda::CublasLtHeuristic &by = proposed[i];
      const auto run = [&] { (void)Enqueue(made, by, at[layout.a.operand], at[layout.b.operand], at[2]); };
      const bool runs = by.status == cuda::kCublasSuccess &&
                        Enqueue(made, by, at[layout.a.operand], at[layout.b.operand], at[2]) == cuda::kCublasSuccess;
      bench_.Wait();
      std::printf("%s{", i == 0 ? "" : ", ");
      for (int attribute = 0; config_ != nullptr && attribute < 9; ++attribute) {
        uint32_t value = 0;
        size_t written = 0;
        const size_t bytes = attribute == 7 || attribute == 8 ? sizeof(uint16_t) : sizeof(uint32_t);
        if (config_(&by.algorithm, attribute, &value, bytes, &written) == cuda::kCublasSuccess)
          std::printf("\"%s\": %u, ", kNames[attribute], value);
      }
      const double us = runs ? std::max(SecondsOf(run, kRuns) - nothing, 0.0) / kRuns * 1e6 : -1;
      std::printf("\"bytes\": %zu, \"waves\": %.3f, \"us\": %.2f}", by.workspace_bytes, double(by.waves), us);
    }
    std::printf("]");
  }
  std::printf("}}\n");
  std::fflush(stdout);
  Release(made);
  for (cuda::DevicePtr memory : at) bench_.Free(memory);
}

}  // namespace

int main(int argc, char **argv) {
  program_name = "cuda_products_driver";
  std::vector<std::string> paths;
  int algorithms = 8;
  double most = 1e9;
  bool right = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--algorithms") {
      algorithms = std::atoi(value.c_str());
      right = right && algorithms >= 1 && algorithms <= kMostAlgorithms;
      ++i;
    } else if (word == "--most-gflop") {
      most = std::atof(value.c_str());
      right = right && most > 0;
      ++i;
    } else {
      right = right && word[0] != '-';
      paths.push_back(word);
    }
  }
  if (!right || paths.empty())
    End("usage: cuda_products_driver PLAN... [--algorithms N] [--most-gflop G]", 2);
  CudaBench bench;
  Products products(bench, algorithms);
  std::set<std::string> known;
  for (const std::string &path : paths) {
    const auto program = LoadCudaProgram(path);
    for (const ops::KernelDesc &kernel : program->kernels) {
      if (absl::StartsWith(kernel.kind, "convolution") || kernel.operands[2].element != ops::Element::kF32 ||
          kernel.operands[0].element != ops::Element::kF32)
        continue;
      const auto layout = cuda::LayoutOfMatmul(kernel);
      double flops = 2.0 * double(kernel.operands[0].dims.back());
      for (int64_t dim : kernel.operands.back().dims) flops *= double(dim);
      if (!layout.ok() || layout->offsets.size() != 1 || flops * 1e-9 > most) continue;
      if (known.insert(cuda::DescribeKernel(kernel)).second) products.Time(kernel, *layout);
    }
  }
}
