// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn kernels of kind "matmul", operands for them, and what they give: from the definition in
// ops/onednn/matmul.h alone, in double precision, with its own reading and rounding of elements.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_PRODUCT_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_PRODUCT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ops/base/kernel.h"

namespace commsched::runtime::cuda {

// 0 to 3 batch dimensions, rows or columns that are dense, any order of the other dimensions, gaps
// between them, inputs that repeat over a batch dimension; strides of dimensions of size 1 are anything.
ops::KernelDesc DrawProduct(std::mt19937_64 &random);

// The memory of an operand: bytes before the first element and behind the last, too.
struct DrawnOperand {
  std::vector<std::byte> bytes;
  size_t first = 0;  // where the first element is
};
// All elements, and what is around them, in (-1, 1).
DrawnOperand DrawOperand(std::mt19937_64 &random, const ops::KernelOperand &operand);

// Calls `add` with the indices, in the two inputs, of the factors of each term of an element of the output.
using AddTerm = std::function<void(const std::vector<int64_t> &first, const std::vector<int64_t> &second)>;
using TermsOf = std::function<void(const std::vector<int64_t> &element, const AddTerm &add)>;

// Runs over the elements of the output; empty, or what is wrong with `after`, the output's memory as the
// kernel leaves it. An element, of k terms, may differ from the exact result by 2 (k + 2) units of the last place of
// the sum of magnitudes, in the type of the sums, and by half a unit of its own for being rounded once. All
// other bytes must be as before.
std::string CheckSums(const ops::KernelDesc &kernel, const std::vector<DrawnOperand> &before,
                      const std::vector<std::byte> &after, const TermsOf &terms);
std::string CheckProduct(const ops::KernelDesc &kernel, const std::vector<DrawnOperand> &before,
                         const std::vector<std::byte> &after);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_PRODUCT_H
