// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/enqueue.h"
#include "ops/sparse/cuda/launch.cuh"
#include "ops/sparse/cuda/top_k_kernels.cuh"

namespace commsched::ops::sparse::cuda {

int ExactBlocks(int element, int index, uint32_t *blocks) {
  int device = 0, processors = 0, each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                   device);
  if (error == cudaSuccess)
    WithDeviceFloat(element, [&](auto f) {
      WithDeviceIndex(index, [&](auto i) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, ExactKernel<decltype(f), decltype(i)>, kThreads, 0);
      });
    });
  *blocks = uint32_t(processors * each);
  return int(error);
}

int EnqueueExact(int element, int index, const Batch &batch, void *stream) {
  const StreamLaunch launch{static_cast<cudaStream_t>(stream)};
  WithDeviceFloat(element, [&](auto f) {
    WithDeviceIndex(index, [&](auto i) {
      launch(ExactKernel<decltype(f), decltype(i)>, batch.blocks, kThreads,
             batch);
    });
  });
  return int(cudaGetLastError());
}

}  // namespace commsched::ops::sparse::cuda
