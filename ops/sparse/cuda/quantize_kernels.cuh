// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of quantization with CUDA: ops/sparse/quantize.cc, bit for bit.
// Compiled by nvcc, and for the tests by a C++ compiler with an emulation of
// what they use of CUDA.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_KERNELS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_KERNELS_CUH

#include <cmath>
#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/quantize_layout.h"

namespace commsched::ops::sparse::cuda {

constexpr float kLevels = 127;

// function(i, there) for the elements of this thread, as often by all of them.
template <typename Function>
__device__ inline void ForQuantized(int64_t count, Function function) {
  const int64_t begin = int64_t(blockIdx.x) * kQuantizeGroup;
  for (int64_t i = begin; i < begin + kQuantizeGroup && i < count;
       i += kQuantizeThreads)
    function(i + int64_t(threadIdx.x), i + int64_t(threadIdx.x) < count);
}

template <class F>
__device__ inline bool CheckFinite(uint32_t v, int64_t i,
                                   QuantizeState *state) {
  if (int32_t(v & F::kMagnitude) < F::kInfinity) return true;
  atomicAdd(&state->non_finite, 1ull);
  atomicMax(&state->first_inverted, ~(unsigned long long)(i));
  return false;
}

template <class From, class To>
__global__ void EncodeFloatsKernel(const void *values, int64_t count,
                                   void *quantized, QuantizeState *state) {
  const auto *v = static_cast<const typename From::Storage *>(values);
  auto *q = static_cast<typename To::Storage *>(quantized);
  ForQuantized(count, [&](int64_t i, bool there) {
    if (!there || !CheckFinite<From>(v[i], i, state)) return;
    uint32_t bits = To::Store(From::Load(v[i]));
    if (int32_t(bits & To::kMagnitude) >= To::kInfinity) --bits;
    q[i] = typename To::Storage(bits);
  });
}

// The largest magnitude of each `block` elements, as the bits of a float; 0
// before.
template <class From>
__global__ void LargestKernel(const void *values, int64_t count, int64_t block,
                              uint32_t *largest, QuantizeState *state) {
  const auto *v = static_cast<const typename From::Storage *>(values);
  ForQuantized(count, [&](int64_t i, bool there) {
    uint32_t magnitude = 0;
    if (there && CheckFinite<From>(v[i], i, state))
      magnitude = bits::FromFloat(From::Load(
          typename From::Storage(v[i] & From::kMagnitude)));
    const int64_t b = there ? i / block : -1;
    const int64_t first = __shfl_sync(kAll, b, 0);
    if (__ballot_sync(kAll, b == first) == kAll) {
      magnitude = WarpMax(magnitude);
      if (Lane() == 0 && there) atomicMax(&largest[first], magnitude);
    } else if (there) {
      atomicMax(&largest[b], magnitude);
    }
  });
}

// From the largest magnitudes, in their place.
static __global__ void ScaleKernel(float *scales, int64_t count) {
  ForQuantized(count, [&](int64_t i, bool there) {
    if (there) scales[i] = scales[i] / kLevels;
  });
}

template <class From>
__global__ void EncodeIntegersKernel(const void *values, int64_t count,
                                     int64_t block, const float *scales,
                                     int8_t *quantized) {
  const auto *v = static_cast<const typename From::Storage *>(values);
  ForQuantized(count, [&](int64_t i, bool there) {
    if (!there) return;
    const float scale = scales[i / block];
    // A scale may be rounded so far down, near 0, that a quotient is larger.
    quantized[i] =
        scale == 0
            ? 0
            : int8_t(rintf(
                  fminf(fmaxf(From::Load(v[i]) / scale, -kLevels), kLevels)));
  });
}

template <class From, class To>
__global__ void DecodeFloatsKernel(const void *quantized, int64_t count,
                                   void *values) {
  const auto *q = static_cast<const typename From::Storage *>(quantized);
  auto *v = static_cast<typename To::Storage *>(values);
  ForQuantized(count, [&](int64_t i, bool there) {
    if (there) v[i] = To::Store(From::Load(q[i]));
  });
}

template <class To>
__global__ void DecodeIntegersKernel(const int8_t *quantized, int64_t count,
                                     int64_t block, const float *scales,
                                     void *values) {
  auto *v = static_cast<typename To::Storage *>(values);
  ForQuantized(count, [&](int64_t i, bool there) {
    if (there) v[i] = To::Store(float(quantized[i]) * scales[i / block]);
  });
}

inline uint32_t QuantizeBlocks(int64_t count) {
  return uint32_t((count + kQuantizeGroup - 1) / kQuantizeGroup);
}

// All of it: `launch(kernel, blocks, threads, arguments...)`. The state and,
// for integers, the scales are 0.
template <class From, class To, class Launch>
void EnqueueEncodeFloats(const void *values, int64_t count, void *quantized,
                         QuantizeState *state, const Launch &launch) {
  launch(EncodeFloatsKernel<From, To>, QuantizeBlocks(count), kQuantizeThreads,
         values, count, quantized, state);
}
template <class From, class Launch>
void EnqueueEncodeIntegers(const void *values, int64_t count, int64_t block,
                           void *quantized, float *scales, QuantizeState *state,
                           const Launch &launch) {
  const int64_t blocks = (count + block - 1) / block;
  launch(LargestKernel<From>, QuantizeBlocks(count), kQuantizeThreads, values,
         count, block, reinterpret_cast<uint32_t *>(scales), state);
  launch(ScaleKernel, QuantizeBlocks(blocks), kQuantizeThreads, scales, blocks);
  launch(EncodeIntegersKernel<From>, QuantizeBlocks(count), kQuantizeThreads,
         values, count, block, static_cast<const float *>(scales),
         static_cast<int8_t *>(quantized));
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_QUANTIZE_KERNELS_CUH
