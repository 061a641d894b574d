// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs CUDA kernels on the CPU, for tests of what they compute: a block at a time,
// its threads as fibers that change where they wait for each other. What it has of
// CUDA is what the kernels of ops/ use. Include before the kernels.
#ifndef COMMSCHED_TESTS_OPS_CUDA_EMULATION_H
#define COMMSCHED_TESTS_OPS_CUDA_EMULATION_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)

namespace commsched::testing::cuda {

struct Dim {
  unsigned x = 0;
};
// Of the thread that runs.
Dim ThreadIndex();
Dim BlockIndex();

// Returns when all threads of the block, or of the warp, are here.
void BlockBarrier();
void WarpBarrier();
// A number for each lane of the own warp, for what lanes tell each other.
uint64_t *WarpSlots();

// Runs body() for each thread of each block; blocks in the order of a fixed
// shuffle, since no order is promised.
void Launch(unsigned blocks, unsigned threads, const std::function<void()> &body);

template <typename T>
T Exchange(T value, unsigned from) {
  uint64_t *slots = WarpSlots();
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  slots[ThreadIndex().x % 32] = bits;
  WarpBarrier();
  bits = slots[from % 32];
  WarpBarrier();
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace commsched::testing::cuda

#define threadIdx (::commsched::testing::cuda::ThreadIndex())
#define blockIdx (::commsched::testing::cuda::BlockIndex())

using std::max;
using std::min;

inline int __popc(unsigned v) { return std::popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline void __syncthreads() { commsched::testing::cuda::BlockBarrier(); }
inline void __threadfence() {}
template <typename T>
T __shfl_sync(unsigned, T v, int from) {
  return commsched::testing::cuda::Exchange(v, unsigned(from));
}
template <typename T>
T __shfl_xor_sync(unsigned, T v, int lanes) {
  return commsched::testing::cuda::Exchange(v, threadIdx.x ^ unsigned(lanes));
}
template <typename T>
T __shfl_up_sync(unsigned, T v, int lanes) {
  const unsigned lane = threadIdx.x % 32;
  return commsched::testing::cuda::Exchange(v,
                                            lane < unsigned(lanes) ? lane : lane - unsigned(lanes));
}
inline unsigned __ballot_sync(unsigned, bool v) {
  uint64_t *slots = commsched::testing::cuda::WarpSlots();
  slots[threadIdx.x % 32] = v;
  commsched::testing::cuda::WarpBarrier();
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= unsigned(slots[i]) << i;
  commsched::testing::cuda::WarpBarrier();
  return bits;
}
template <typename T>
T atomicAdd(T *p, T v) {
  const T old = *p;
  *p += v;
  return old;
}
template <typename T>
T atomicMax(T *p, T v) {
  const T old = *p;
  *p = std::max(old, v);
  return old;
}
template <typename T>
T atomicExch(T *p, T v) {
  const T old = *p;
  *p = v;
  return old;
}

#endif  // COMMSCHED_TESTS_OPS_CUDA_EMULATION_H
