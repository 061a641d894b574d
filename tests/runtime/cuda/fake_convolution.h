// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution as the fake cuDNN is told it, and what it computes. Of its own sources only.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CONVOLUTION_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CONVOLUTION_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/base/element.h"

namespace commsched::runtime::cuda {

struct ConvolutionTensor {
  std::vector<int64_t> dims, strides;  // in elements; the second is that of channels
  int64_t id = 0, alignment = 1;
  ops::Element element = ops::Element::kF32;

  // Elements from the first to behind the last.
  int64_t Reach() const {
    int64_t last = 0;
    for (size_t d = 0; d < dims.size(); ++d) last += (dims[d] - 1) * strides[d];
    return last + 1;
  }
  // Without gaps, with channels last, or in front of the spatial dimensions.
  bool Dense(bool channels_last) const;
};

enum class ConvolutionKind {
  kForward,
  kBackwardData,
  kBackwardFilter
};

// By value: descriptors may be gone when it runs.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::kForward;
  ConvolutionTensor x, w, y;  // [n, c, ...], [k, c of a group, ...], [n, k, ...]
  std::vector<int64_t> strides, dilations, low, high;
  bool flips = false, f64 = false;  // the window; sums
  double alpha = 1, beta = 0;

  const ConvolutionTensor &Output() const {
    return kind == ConvolutionKind::kForward ? y : kind == ConvolutionKind::kBackwardData ? x
                                                                                          : w;
  }
  // Of the output.
  uint64_t Elements() const {
    uint64_t count = 1;
    for (int64_t size : Output().dims) count *= uint64_t(size);
    return count;
  }
};

// What is wrong in what is computed.
struct ConvolutionFlaws {
  bool inputs_as_bf16 = false, sums_as_bf16 = false;
  double factor = 1;
};

// Each sum is one of `parts` parts, which are in the workspace if there are several: Elements() * parts numbers
// of the type of sums.
void ComputeConvolution(const Convolution &convolution, const ConvolutionFlaws &flaws, std::byte *x, std::byte *w,
                        std::byte *y, void *workspace, uint64_t parts);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CONVOLUTION_H
