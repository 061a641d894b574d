// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/element.h"
#include "ops/sparse/cuda/enqueue.h"
#include "ops/sparse/cuda/top_k_kernels.cuh"

namespace commsched::ops::sparse::cuda {
namespace {

template <class F>
void EnqueueType(int index, const Item *items, State *states,
                 const uint32_t *group_item, uint32_t item_count,
                 uint32_t group_count, cudaStream_t stream) {
  const auto launch = [stream](auto kernel, uint32_t blocks, int threads,
                               auto... arguments) {
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
  };
  if (Element(index) == Element::kI32)
    Enqueue<F, int32_t>(items, states, group_item, item_count, group_count,
                        launch);
  else
    Enqueue<F, int64_t>(items, states, group_item, item_count, group_count,
                        launch);
}

}  // namespace

int EnqueueTopK(int element, int index, const Item *items, State *states,
                const uint32_t *group_item, uint32_t item_count,
                uint32_t group_count, void *stream) {
  const auto s = static_cast<cudaStream_t>(stream);
  switch (Element(element)) {
    case Element::kF16:
      EnqueueType<DeviceF16>(index, items, states, group_item, item_count,
                             group_count, s);
      break;
    case Element::kBF16:
      EnqueueType<DeviceBF16>(index, items, states, group_item, item_count,
                              group_count, s);
      break;
    default:
      EnqueueType<DeviceF32>(index, items, states, group_item, item_count,
                             group_count, s);
      break;
  }
  return int(cudaGetLastError());
}

}  // namespace commsched::ops::sparse::cuda
