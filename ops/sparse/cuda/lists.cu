// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/enqueue.h"
#include "ops/sparse/cuda/launch.cuh"
#include "ops/sparse/cuda/lists_kernels.cuh"

namespace commsched::ops::sparse::cuda {

int EnqueueLists(int element, int index, const ListItem *items,
                 ListState *states, const uint32_t *group_item,
                 uint32_t group_count, uint32_t merges, void *stream) {
  const StreamLaunch launch{static_cast<cudaStream_t>(stream)};
  WithDeviceFloat(element, [&](auto f) {
    WithDeviceIndex(index, [&](auto i) {
      EnqueueLists<decltype(f), decltype(i)>(items, states, group_item,
                                             group_count, merges, launch);
    });
  });
  return int(cudaGetLastError());
}

int EnqueuePick(int element, int index, const PickItem *items,
                uint32_t item_count, void *stream) {
  const StreamLaunch launch{static_cast<cudaStream_t>(stream)};
  WithDeviceFloat(element, [&](auto f) {
    WithDeviceIndex(index, [&](auto i) {
      launch(PickKernel<decltype(f), decltype(i)>, item_count * kPickBlocks,
             kListThreads, items);
    });
  });
  return int(cudaGetLastError());
}

}  // namespace commsched::ops::sparse::cuda
