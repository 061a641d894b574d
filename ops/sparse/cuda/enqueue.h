// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc compiles, as the rest of the library sees it.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H
#define COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H

#include <cstdint>

#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// Puts the kernels of the selection on a cudaStream_t. `element` and `index`
// are those of ops::Element. Returns a cudaError_t.
int EnqueueTopK(int element, int index, const Item *items, State *states,
                const uint32_t *group_item, uint32_t item_count,
                uint32_t group_count, void *stream);

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H
