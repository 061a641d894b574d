// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the kinds of ops/base/convolution_shape.h as cuDNN has convolutions: of two or three spatial
// dimensions, all tensors with a stride for each dimension.
#ifndef COMMSCHED_RUNTIME_CUDA_CONVOLUTION_LAYOUT_H
#define COMMSCHED_RUNTIME_CUDA_CONVOLUTION_LAYOUT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/base/convolution_shape.h"
#include "ops/base/kernel.h"

namespace commsched::runtime::cuda {

// [N, C, space...], [O, C / groups, space...] or [N, O, space...].
struct ConvolutionTensor {
  size_t operand = 0;  // of the kernel
  ops::Element element = ops::Element::kF32;
  std::vector<int64_t> dims, strides;  // in elements
};

struct ConvolutionLayout {
  ops::ConvolutionShape::Kind kind = ops::ConvolutionShape::kForward;
  ConvolutionTensor source, weights, destination;
  std::vector<int64_t> strides, dilations, pad_low, pad_high;  // of each spatial dimension
  bool accumulate = false;
};

// A kernel of one spatial dimension has another of size 1 in front. The strides of dimensions of size 1, which
// say nothing, are those of the dense order of channels last or channels first that all the tensors
// have; where they have none in common, each one's own. `kernel` has passed ops::CheckKernel. kUnimplemented:
// element types that do not go together (all f64, f32, f16 or bf16, or an output of f32), inputs that repeat elements,
// outputs that overlap, sizes of 2^31 and more.
absl::StatusOr<ConvolutionLayout> LayoutOfConvolution(const ops::KernelDesc &kernel);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_CONVOLUTION_LAYOUT_H
