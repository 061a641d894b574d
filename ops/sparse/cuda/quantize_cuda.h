// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values in fewer bits on a CUDA device: the twin of ops/sparse/quantize.h,
// which defines the answers. Functions of their arguments; all memory is the
// device's.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_CUDA_H
#define COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_CUDA_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/base/element.h"
#include "ops/sparse/cuda/quantize_layout.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse::cuda {

// Puts a fixed sequence of kernels on the cudaStream_t, which may be captured
// into a graph. `from`: kF32, kF16, kBF16. `to`: kF16, kBF16, kI8 with a scale
// for each `block` elements.
absl::Status QuantizeOn(void *stream, Element from, Element to,
                        const void *values, int64_t count, int64_t block,
                        void *quantized, float *scales, QuantizeState *state);

// Waits for the stream, and says what was not finite: then the output holds
// anything.
absl::StatusOr<NonFinite> WaitForQuantize(void *stream,
                                          const QuantizeState *state);

// The other way round, to kF32, kF16 or kBF16.
absl::Status DequantizeOn(void *stream, Element from, Element to,
                          const void *quantized, int64_t count, int64_t block,
                          const float *scales, void *values);

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_CUDA_H
