// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn convolutions and gradients, and what they give: from the definition in
// ops/base/convolution_shape.h alone, as a sum over all pairs of elements that meet.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_CONVOLUTION_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_CONVOLUTION_H

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "ops/base/kernel.h"
#include "tests/runtime/cuda/drawn_product.h"

namespace commsched::runtime::cuda {

// What cuDNN does not have is drawn on demand.
enum class ConvolutionOddity {
  kNone,
  kGaps,    // between the elements of one operand
  kPadding  // more behind than in front
};

// 1 to 3 spatial dimensions, groups, strides, dilations and padding; channels last or channels first; strides of
// dimensions of size 1 are anything; all element types.
ops::KernelDesc DrawConvolution(std::mt19937_64 &random, ConvolutionOddity oddity = ConvolutionOddity::kNone);

// As CheckProduct.
std::string CheckConvolutionOutput(const ops::KernelDesc &kernel, const std::vector<DrawnOperand> &before,
                                   const std::vector<std::byte> &after);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_CONVOLUTION_H
