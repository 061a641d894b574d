// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of plans on a device, by cuBLASLt. Sums are kept in f32, of f64 in f64, as
// ops/onednn/matmul.h has it, in an order that is the library's. Other kernels, and products whose
// strides no layout of the library has, are refused.
#ifndef COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H
#define COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/library_kernels.h"

namespace commsched::runtime::cuda {

// A product as the library has it: matrices by columns, D = op(A) op(B) of m x n, repeated. What is
// left of the batch is a call for each, at other addresses.
struct CublasLtProduct {
  struct Matrix {
    uint32_t operand = 0;  // of the kernel: A is its second one where all is transposed
    int type = 0;
    bool transposed = false;
    uint64_t rows = 0, columns = 0;
    int64_t leading = 0, batch_stride = 0;
  };
  Matrix a, b, d;
  int compute = 0, scale = 0;
  int32_t batch = 1;
  // Of each call: elements from the operands' first ones.
  std::vector<std::array<int64_t, 3>> calls;
  bool accumulate = false;
};
// kUnimplemented, with what the library has no layout or type for.
absl::StatusOr<CublasLtProduct> PlanProduct(const ops::KernelDesc &kernel);

// Both outlive it. Each stream has a workspace of so many bytes.
std::unique_ptr<LibraryKernels> MakeCublasLtKernels(const CublasLtApi &api, const DriverApi &driver,
                                                    uint64_t workspace_bytes = uint64_t{32} << 20);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H
