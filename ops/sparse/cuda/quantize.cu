// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/enqueue.h"
#include "ops/sparse/cuda/launch.cuh"
#include "ops/sparse/cuda/quantize_kernels.cuh"

namespace commsched::ops::sparse::cuda {

int EnqueueQuantize(int from, int to, const void *values, int64_t count,
                    int64_t block, void *quantized, float *scales,
                    QuantizeState *state, void *stream) {
  const StreamLaunch launch{static_cast<cudaStream_t>(stream)};
  WithDeviceFloat(from, [&](auto f) {
    using From = decltype(f);
    if (Element(to) == Element::kI8)
      return EnqueueEncodeIntegers<From>(values, count, block, quantized,
                                         scales, state, launch);
    WithDeviceFloat(to, [&](auto t) {
      EnqueueEncodeFloats<From, decltype(t)>(values, count, quantized, state,
                                             launch);
    });
  });
  return int(cudaGetLastError());
}

int EnqueueDequantize(int from, int to, const void *quantized, int64_t count,
                      int64_t block, const float *scales, void *values,
                      void *stream) {
  const StreamLaunch launch{static_cast<cudaStream_t>(stream)};
  WithDeviceFloat(to, [&](auto t) {
    using To = decltype(t);
    if (Element(from) == Element::kI8)
      return launch(DecodeIntegersKernel<To>, QuantizeBlocks(count),
                    kQuantizeThreads, static_cast<const int8_t *>(quantized),
                    count, block, scales, values);
    WithDeviceFloat(from, [&](auto f) {
      launch(DecodeFloatsKernel<decltype(f), To>, QuantizeBlocks(count),
             kQuantizeThreads, quantized, count, values);
    });
  });
  return int(cudaGetLastError());
}

}  // namespace commsched::ops::sparse::cuda
