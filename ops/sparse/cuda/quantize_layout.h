// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host and device of the CUDA quantization share.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_LAYOUT_H
#define COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_LAYOUT_H

#include <cstdint>

namespace commsched::ops::sparse::cuda {

inline constexpr int kQuantizeThreads = 256;
// Elements of a block of threads.
inline constexpr int64_t kQuantizeGroup = 16 * kQuantizeThreads;

// 0 at the beginning of a run.
struct QuantizeState {
  unsigned long long non_finite;
  unsigned long long first_inverted;  // ~index of the first that is not finite
};

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_LAYOUT_H
