// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc compiles, as the rest of the library sees it: each function puts
// kernels on a cudaStream_t, and returns a cudaError_t. `element` and `index`
// are those of ops::Element.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H
#define COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H

#include <cstdint>

#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

int EnqueueTopK(int element, int index, const Item *items, State *states,
                const uint32_t *group_item, uint32_t item_count,
                uint32_t group_count, void *stream);

int EnqueueMsTopK(int element, int index, const Item *items, State *states,
                  const uint32_t *group_item, uint32_t group_count, int steps,
                  uint64_t seed, bool stop_early, void *stream);

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H
