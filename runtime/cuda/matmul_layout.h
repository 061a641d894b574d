// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of kind "matmul" (ops/onednn/matmul.h) as BLAS has products: of column-major matrices, which
// are transposed or not.
#ifndef COMMSCHED_RUNTIME_CUDA_MATMUL_LAYOUT_H
#define COMMSCHED_RUNTIME_CUDA_MATMUL_LAYOUT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/base/kernel.h"

namespace commsched::runtime::cuda {

// As it lies: element (i, j) is i + j * leading elements behind the first.
struct ColumnMajor {
  size_t operand = 0;  // of the kernel
  ops::Element element = ops::Element::kF32;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;       // >= rows
  int64_t batch_stride = 0;  // in elements; 0 repeats
  bool transposed = false;   // in the product
};

// D[i] = A[i] B[i], or D[i] += A[i] B[i], for the matrices i of a batch, at each of `offsets`: in
// elements from the first ones of A, B and D.
struct MatmulLayout {
  ColumnMajor a, b, d;  // d is not transposed
  int32_t batch = 1;
  std::vector<std::array<int64_t, 3>> offsets;
  bool accumulate = false;
};

// More calls than this for one kernel are refused.
inline constexpr size_t kMostMatmulCalls = 4096;

// A row-major output makes it the product of the transposes, D' = B' A'. The largest batch dimension is
// that of the library; each index of the others is a call. `kernel` has passed ops::CheckKernel.
// kUnimplemented, if it is no product of matrices that BLAS has: no stride of a matrix is 1, one is
// repeated within a matrix, rows or the output overlap, sizes of 2^31 and more.
absl::StatusOr<MatmulLayout> LayoutOfMatmul(const ops::KernelDesc &kernel);

// Whether some dimension does not step over all that is within: not so in any layout of compiled plans.
bool Overlaps(const ops::KernelOperand &operand);

// "matmul f32[2,3] x f32[3,4] = f32[2,4]", with strides in parentheses where they are not dense, += if it
// accumulates, and attributes as "groups=2". Of any kernel, for messages.
std::string DescribeKernel(const ops::KernelDesc &kernel);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_MATMUL_LAYOUT_H
