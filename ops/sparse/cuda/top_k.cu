// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/enqueue.h"
#include "ops/sparse/cuda/launch.cuh"
#include "ops/sparse/cuda/top_k_kernels.cuh"

namespace commsched::ops::sparse::cuda {

int EnqueueTopK(int element, int index, const Item *items, State *states,
                const uint32_t *group_item, uint32_t item_count,
                uint32_t group_count, void *stream) {
  const StreamLaunch launch{static_cast<cudaStream_t>(stream)};
  WithDeviceFloat(element, [&](auto f) {
    WithDeviceIndex(index, [&](auto i) {
      EnqueueExact<decltype(f), decltype(i)>(items, states, group_item,
                                             item_count, group_count, launch);
    });
  });
  return int(cudaGetLastError());
}

}  // namespace commsched::ops::sparse::cuda
