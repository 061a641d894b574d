// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements, warps and blocks, for the CUDA kernels of sparse gradients.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_DEVICE_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_DEVICE_CUH

#include <cstdint>

#include "ops/base/float_bits.h"
#include "ops/sparse/cuda/top_k_layout.h"

#ifdef __CUDACC__
#define COMMSCHED_UNROLL _Pragma("unroll")
#else
#define COMMSCHED_UNROLL
#endif

namespace commsched::ops::sparse::cuda {

// Elements as bits; a magnitude has kBits.
struct DeviceF32 {
  using Storage = uint32_t;
  static constexpr uint32_t kMagnitude = 0x7fffffff;
  static constexpr int32_t kInfinity = 0x7f800000;
  static constexpr int kBits = 31;
  static __device__ float Load(uint32_t v) { return bits::ToFloat(v); }
  static __device__ uint32_t Store(float v) { return bits::FromFloat(v); }
};
struct DeviceBF16 {
  using Storage = uint16_t;
  static constexpr uint32_t kMagnitude = 0x7fff;
  static constexpr int32_t kInfinity = 0x7f80;
  static constexpr int kBits = 15;
  static __device__ float Load(uint16_t v) { return bits::BFloat16ToFloat(v); }
  static __device__ uint16_t Store(float v) { return bits::FloatToBFloat16(v); }
};
struct DeviceF16 {
  using Storage = uint16_t;
  static constexpr uint32_t kMagnitude = 0x7fff;
  static constexpr int32_t kInfinity = 0x7c00;
  static constexpr int kBits = 15;
  static __device__ float Load(uint16_t v) { return bits::HalfToFloat(v); }
  static __device__ uint16_t Store(float v) { return bits::FloatToHalf(v); }
};

constexpr unsigned kAll = 0xffffffffu;

__device__ inline int Lane() { return int(threadIdx.x) % kWarp; }
__device__ inline int WarpNumber() { return int(threadIdx.x) / kWarp; }
// Lanes before this one.
__device__ inline unsigned Before() { return (1u << Lane()) - 1; }

// By halves: lanes 0 to 15 and 16 to 31 in pairs first.
template <typename T>
__device__ inline T WarpSum(T v) {
  for (int d = kWarp / 2; d > 0; d /= 2) v += __shfl_xor_sync(kAll, v, d);
  return v;
}
template <typename T>
__device__ inline T WarpMax(T v) {
  for (int d = kWarp / 2; d > 0; d /= 2)
    v = max(v, __shfl_xor_sync(kAll, v, d));
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

// 16 bytes.
template <class F>
struct alignas(16) Vector {
  static constexpr int kCount = 16 / sizeof(typename F::Storage);
  uint32_t words[4];
  __device__ uint32_t Get(int i) const {
    if constexpr (kCount == 4) return words[i];
    return (words[i / 2] >> (i % 2 * 16)) & 0xffff;
  }
  __device__ void Set(int i, uint32_t v) {
    if constexpr (kCount == 4)
      words[i] = v;
    else if (i % 2 == 0)
      words[i / 2] = (words[i / 2] & 0xffff0000u) | v;
    else
      words[i / 2] = (words[i / 2] & 0xffff) | v << 16;
  }
};
__device__ inline bool IsAligned(const void *p) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0;
}
// `count`: elements that there are, the others are 0. Data that is read once,
// past what the caches hold.
template <class F>
__device__ inline Vector<F> LoadVector(const typename F::Storage *p,
                                       bool aligned,
                                       int count = Vector<F>::kCount) {
  Vector<F> v = {};
  if (aligned && count >= Vector<F>::kCount) {
#ifdef __CUDACC__
    const uint4 words = __ldcs(reinterpret_cast<const uint4 *>(p));
    v.words[0] = words.x, v.words[1] = words.y;
    v.words[2] = words.z, v.words[3] = words.w;
#else
    for (int i = 0; i < 4; ++i)
      v.words[i] = reinterpret_cast<const uint32_t *>(p)[i];
#endif
  } else {
    COMMSCHED_UNROLL
    for (int i = 0; i < Vector<F>::kCount; ++i)
      if (i < count) v.Set(i, p[i]);
  }
  return v;
}
// Rows of a warp, of which this lane has the vectors from p on; `whole`: all
// that there is, aligned, else `count` elements from p on.
template <class F, int kRows>
__device__ inline void LoadVectors(Vector<F> (&v)[kRows],
                                   const typename F::Storage *p, bool whole,
                                   int count) {
  constexpr int kRow = kWarp * Vector<F>::kCount;
  if (whole) {
    COMMSCHED_UNROLL
    for (int i = 0; i < kRows; ++i) v[i] = LoadVector<F>(p + i * kRow, true);
  } else {
    COMMSCHED_UNROLL
    for (int i = 0; i < kRows; ++i)
      v[i] = LoadVector<F>(p + i * kRow, false, count - i * kRow);
  }
}
template <class F>
__device__ inline void StoreVector(const Vector<F> &v, typename F::Storage *p,
                                   bool aligned, int count) {
  if (aligned && count >= Vector<F>::kCount) {
#ifdef __CUDACC__
    // Not as a uint4, which the compiler might take for other memory than its
    // elements, which are read again.
    asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(p), "r"(v.words[0]), "r"(v.words[1]), "r"(v.words[2]), "r"(v.words[3])
                 : "memory");
#else
    for (int i = 0; i < 4; ++i) reinterpret_cast<uint32_t *>(p)[i] = v.words[i];
#endif
  } else {
    COMMSCHED_UNROLL
    for (int i = 0; i < Vector<F>::kCount; ++i)
      if (i < count) p[i] = typename F::Storage(v.Get(i));
  }
}

__device__ inline bool IsRefused(const Item &item) {
  return item.refused != nullptr && (item.refused[0] | item.refused[1]) != 0;
}

// Of numbers that other blocks change meanwhile.
__device__ inline uint32_t LoadAtomic(uint32_t *p) {
#ifdef __CUDACC__
  uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
#else
  return EmulateAtomicLoad(p);
#endif
}
__device__ inline unsigned long long LoadAtomic(unsigned long long *p) {
#ifdef __CUDACC__
  unsigned long long v;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
#else
  return EmulateAtomicLoad(p);
#endif
}
// Orders what a thread did before and does behind it, for all blocks.
__device__ inline void Fence() {
#ifdef __CUDACC__
  asm volatile("fence.acq_rel.gpu;" : : : "memory");
#else
  __threadfence();
#endif
}
// Lets other blocks go on.
__device__ inline void Pause() {
#ifdef __CUDACC__
  __nanosleep(40);
#else
  EmulatePause();
#endif
}
// Soon 128 bytes from `p` on are read.
__device__ inline void Prefetch([[maybe_unused]] const void *p) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L2 [%0];" : : "l"(p));
#endif
}

// Whether this block is the last of `blocks` to come here; what the others
// wrote before is seen then. Called by all threads; the ticket is 0 again for
// the next kernel.
__device__ inline bool IsLast(uint32_t *ticket, uint32_t blocks, bool *last) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    *last = atomicAdd(ticket, 1u) == blocks - 1;
    if (*last) atomicExch(ticket, 0u);
  }
  __syncthreads();
  __threadfence();
  return *last;
}

// Puts in place of each of counts[0 .. n), in global memory, how many there are
// before it, and returns their sum. By all threads of a block of kWarpCount
// warps; `sums` is shared, for as many numbers.
template <int kWarpCount>
__device__ inline uint32_t CountsBefore(uint32_t *counts, uint32_t n,
                                        uint32_t *sums) {
  // Several loads at once: few rounds of waiting for memory.
  constexpr int kEach = 8;
  uint32_t before = 0;
  for (uint32_t begin = 0; begin < n; begin += kWarpCount * kWarp * kEach) {
    const uint32_t first = begin + threadIdx.x * kEach;
    uint32_t v[kEach], sum = 0;
    COMMSCHED_UNROLL
    for (int i = 0; i < kEach; ++i)
      v[i] = first + i < n ? counts[first + i] : 0;
    COMMSCHED_UNROLL
    for (int i = 0; i < kEach; ++i) sum += v[i];
    const uint32_t prefix = WarpPrefix(sum);
    if (Lane() == kWarp - 1) sums[WarpNumber()] = prefix + sum;
    __syncthreads();
    uint32_t own = before + prefix;
    for (int w = 0; w < kWarpCount; ++w) {
      if (w < WarpNumber()) own += sums[w];
      before += sums[w];
    }
    COMMSCHED_UNROLL
    for (int i = 0; i < kEach; ++i) {
      if (first + i < n) counts[first + i] = own;
      own += v[i];
    }
    __syncthreads();
  }
  return before;
}

__device__ inline uint64_t Mix(uint64_t seed) {
  uint64_t z = seed + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_DEVICE_CUH
