// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions over 1 to 3 spatial dimensions, as cross-correlation.
//   source      [N, C, spatial...]
//   weights     [O, C / groups, spatial...]
//   destination [N, O, spatial...]
// Kinds and operands (inputs, then the output):
//   "convolution_forward"          source, weights, destination
//   "convolution_backward_data"    destination's gradient, weights, source's gradient
//   "convolution_backward_weights" source, destination's gradient, weights' gradient
// Strides of the tensors are free. Attributes, one number per spatial
// dimension: `strides` (default 1), `dilations` (1, the default, is dense),
// `pad_low`, `pad_high` (default 0, not negative); and `groups` (one number,
// default 1). The sizes must satisfy
//   out = floor((in + low + high - ((kernel - 1) dilation + 1)) / stride) + 1.
// Sums are kept in f32, of f64 in f64, and rounded once; f16 and bf16 as in
// matmul.h.
#ifndef COMMSCHED_OPS_BASE_CONVOLUTION_SHAPE_H
#define COMMSCHED_OPS_BASE_CONVOLUTION_SHAPE_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/base/kernel.h"

namespace commsched::ops {

// A convolution's parts by role, whatever the order of its operands.
struct ConvolutionShape {
  enum Kind {
    kForward,
    kBackwardData,
    kBackwardWeights
  } kind = kForward;
  size_t source = 0, weights = 0, destination = 0;  // operand indices
  int spatial = 0;
  int64_t groups = 1;
  std::vector<int64_t> strides, dilations, pad_low, pad_high;
};

absl::StatusOr<ConvolutionShape> ParseConvolution(const KernelDesc &desc);
absl::Status CheckConvolution(const KernelDesc &desc);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_BASE_CONVOLUTION_SHAPE_H
