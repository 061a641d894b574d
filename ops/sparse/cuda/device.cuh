// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements and warps, for the kernels of the CUDA selection.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_DEVICE_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_DEVICE_CUH

#include <cstdint>

#include "ops/sparse/cuda/top_k_layout.h"

#ifdef __CUDACC__
#define COMMSCHED_UNROLL _Pragma("unroll")
#else
#define COMMSCHED_UNROLL
#endif

namespace commsched::ops::sparse::cuda {

// Elements as bits. Shift(p) is where the bits that are known before pass p
// begin.
struct DeviceF32 {
  using Storage = uint32_t;
  static constexpr uint32_t kMagnitude = 0x7fffffff;
  static constexpr int32_t kInfinity = 0x7f800000;
  static constexpr int kPassCount = 3;
  static __device__ int Shift(int pass) {
    return pass == 0 ? 31 : 30 - 10 * pass;
  }
  static __device__ float Load(uint32_t v) { return __uint_as_float(v); }
  static __device__ uint32_t Store(float v) { return __float_as_uint(v); }
};
struct DeviceBF16 {
  using Storage = uint16_t;
  static constexpr uint32_t kMagnitude = 0x7fff;
  static constexpr int32_t kInfinity = 0x7f80;
  static constexpr int kPassCount = 2;
  static __device__ int Shift(int pass) {
    return pass == 0 ? 15 : 8 - 4 * pass;
  }
  static __device__ float Load(uint16_t v) {
    return __uint_as_float(uint32_t(v) << 16);
  }
  static __device__ uint16_t Store(float v) {
    const uint32_t bits = __float_as_uint(v);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return uint16_t(v != v ? (bits >> 16) | 0x40 : rounded);
  }
};
struct DeviceF16 {
  using Storage = uint16_t;
  static constexpr uint32_t kMagnitude = 0x7fff;
  static constexpr int32_t kInfinity = 0x7c00;
  static constexpr int kPassCount = 2;
  static __device__ int Shift(int pass) {
    return pass == 0 ? 15 : 8 - 4 * pass;
  }
  // As ops/element.h: by bits, so that no machine flushes or rounds otherwise.
  static __device__ float Load(uint16_t v) {
    const uint32_t sign = uint32_t(v & 0x8000) << 16, m = v & 0x7fff;
    if (m >= 0x7c00)
      return __uint_as_float(sign | 0x7f800000 | ((m & 0x3ff) << 13));
    const float shifted = __uint_as_float(m << 13) * 0x1p112f;
    return __uint_as_float(sign | __float_as_uint(shifted));
  }
  static __device__ uint16_t Store(float v) {
    const uint32_t bits = __float_as_uint(v);
    const uint32_t sign = (bits >> 16) & 0x8000, m = bits & 0x7fffffff;
    if (m > 0x7f800000) return uint16_t(sign | 0x7e00);
    if (m >= 0x477ff000) return uint16_t(sign | 0x7c00);
    if (m < 0x38800000)
      return uint16_t(
          sign | (__float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000));
    const uint32_t rounded = m + 0xfff + ((m >> 13) & 1);
    return uint16_t(sign | ((rounded - 0x38000000) >> 13));
  }
};

constexpr unsigned kAll = 0xffffffffu;

__device__ inline int Lane() { return int(threadIdx.x) % kWarp; }
__device__ inline int WarpNumber() { return int(threadIdx.x) / kWarp; }
// Lanes before this one.
__device__ inline unsigned Before() { return (1u << Lane()) - 1; }

__device__ inline uint32_t WarpSum(uint32_t v) {
  for (int d = kWarp / 2; d > 0; d /= 2) v += __shfl_xor_sync(kAll, v, d);
  return v;
}
// Of the lanes before this one.
__device__ inline uint32_t WarpPrefix(uint32_t v) {
  uint32_t sum = v;
  for (int d = 1; d < kWarp; d *= 2) {
    const uint32_t other = __shfl_up_sync(kAll, sum, d);
    if (Lane() >= d) sum += other;
  }
  return sum - v;
}

__device__ inline uint64_t Mix(uint64_t seed) {
  uint64_t z = seed + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_DEVICE_CUH
