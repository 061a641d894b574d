// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc compiles, as the rest of the library sees it: each function puts
// kernels on a cudaStream_t, and returns a cudaError_t. `element` and `index`
// are those of ops::Element.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H
#define COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H

#include <cstdint>

#include "ops/sparse/cuda/lists_layout.h"
#include "ops/sparse/cuda/quantize_layout.h"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// How many blocks of exact selection the current device runs at once.
int ExactBlocks(int element, int index, uint32_t *blocks);
int EnqueueExact(int element, int index, const Batch &batch, void *stream);

int EnqueueMsTopK(int element, int index, const Item *items, State *states,
                  const uint32_t *group_item, uint32_t group_count, int steps,
                  uint64_t seed, bool stop_early, void *stream);

int EnqueueLists(int element, int index, const ListItem *items,
                 ListState *states, const uint32_t *group_item,
                 uint32_t group_count, uint32_t merges, void *stream);
int EnqueuePick(int element, int index, const PickItem *items,
                uint32_t item_count, void *stream);

int EnqueueQuantize(int from, int to, const void *values, int64_t count,
                    int64_t block, void *quantized, float *scales,
                    QuantizeState *state, void *stream);
int EnqueueDequantize(int from, int to, const void *quantized, int64_t count,
                      int64_t block, const float *scales, void *values,
                      void *stream);

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_ENQUEUE_H
