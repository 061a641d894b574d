// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs CUDA kernels on the CPU, for tests of what they compute: a few blocks at a
// time, which take turns; their threads are fibers that change where they wait. What it has of
// CUDA is what the kernels of ops/ use. Include before the kernels, and compile with
// -fsanitize=thread, without linking its library: cuda_emulation_check.h then says
// what the order in which fibers run hides.
#ifndef COMMSCHED_TESTS_OPS_CUDA_EMULATION_H
#define COMMSCHED_TESTS_OPS_CUDA_EMULATION_H

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>

#define __device__
#define __global__ __attribute__((noinline))
#define __shared__ static
#define __launch_bounds__(...)

namespace commsched::testing::cuda {

struct Dim {
  unsigned x = 0;
};
// Of the thread that runs.
Dim ThreadIndex();
Dim BlockIndex();

// Returns when all threads of the block are here.
void BlockBarrier();
void Fence();

// Gives all lanes of the own warp the numbers of all; `operation` must be the same
// for all of them.
enum class WarpOperation : uint32_t {
  kBallot,
  kShuffle,
  kXor,
  kUp
};
struct WarpNumbers {
  uint64_t of[32];
};
WarpNumbers Exchange(uint64_t number, WarpOperation operation, int argument, unsigned mask);

// What they return is what was there before.
uint32_t AtomicAdd(uint32_t *p, uint32_t v);
uint32_t AtomicMax(uint32_t *p, uint32_t v);
uint32_t AtomicExchange(uint32_t *p, uint32_t v);
uint64_t AtomicAdd(uint64_t *p, uint64_t v);
uint64_t AtomicMax(uint64_t *p, uint64_t v);
uint64_t AtomicExchange(uint64_t *p, uint64_t v);
uint32_t AtomicLoad(uint32_t *p);
uint64_t AtomicLoad(uint64_t *p);

// Lets other threads go on.
void Pause();

// From here to EndKernel, what the thread reads and writes is the kernel's.
void BeginKernel();
void EndKernel();

// Runs body() for each thread of each block; blocks begin in the order of a fixed
// shuffle, and take turns of different lengths, since no order is promised.
void Launch(unsigned blocks, unsigned threads, const std::function<void()> &body);

template <typename T>
uint64_t Bits(T value) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
T FromBits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace commsched::testing::cuda

// Instead of kernel<<<blocks, threads, 0, stream>>>(arguments...).
template <typename Kernel, typename... Arguments>
void EmulateLaunch(cudaStream_t stream, Kernel kernel, uint32_t blocks, int threads,
                   Arguments... arguments) {
  namespace cuda = commsched::testing::cuda;
  const std::function<void()> body = [=]() __attribute__((no_sanitize("thread"))) {
    cuda::BeginKernel();
    kernel(arguments...);
    cuda::EndKernel();
  };
  cuda::Enqueue(stream, [=] { cuda::Launch(blocks, unsigned(threads), body); });
}

#define threadIdx (::commsched::testing::cuda::ThreadIndex())
#define blockIdx (::commsched::testing::cuda::BlockIndex())

using std::max;
using std::min;

inline int __popc(unsigned v) { return std::popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline void __syncthreads() { commsched::testing::cuda::BlockBarrier(); }
inline void __threadfence() { commsched::testing::cuda::Fence(); }
template <typename T>
T __shfl_sync(unsigned mask, T v, int from) {
  namespace cuda = commsched::testing::cuda;
  // Lanes may each ask another.
  return cuda::FromBits<T>(
      cuda::Exchange(cuda::Bits(v), cuda::WarpOperation::kShuffle, 0, mask).of[from % 32]);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T v, int lanes) {
  namespace cuda = commsched::testing::cuda;
  return cuda::FromBits<T>(cuda::Exchange(cuda::Bits(v), cuda::WarpOperation::kXor, lanes, mask)
                               .of[(threadIdx.x ^ unsigned(lanes)) % 32]);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T v, int lanes) {
  namespace cuda = commsched::testing::cuda;
  const unsigned lane = threadIdx.x % 32;
  return cuda::FromBits<T>(cuda::Exchange(cuda::Bits(v), cuda::WarpOperation::kUp, lanes, mask)
                               .of[lane < unsigned(lanes) ? lane : lane - unsigned(lanes)]);
}
inline unsigned __ballot_sync(unsigned mask, bool v) {
  namespace cuda = commsched::testing::cuda;
  const cuda::WarpNumbers votes = cuda::Exchange(v, cuda::WarpOperation::kBallot, 0, mask);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= unsigned(votes.of[i]) << i;
  return bits;
}
inline unsigned atomicAdd(unsigned *p, unsigned v) {
  return commsched::testing::cuda::AtomicAdd(p, v);
}
inline unsigned atomicMax(unsigned *p, unsigned v) {
  return commsched::testing::cuda::AtomicMax(p, v);
}
inline unsigned atomicExch(unsigned *p, unsigned v) {
  return commsched::testing::cuda::AtomicExchange(p, v);
}
// Reads in one piece what others change; lets them do so.
inline unsigned EmulateAtomicLoad(unsigned *p) {
  return commsched::testing::cuda::AtomicLoad(p);
}
inline unsigned long long EmulateAtomicLoad(unsigned long long *p) {
  return commsched::testing::cuda::AtomicLoad(reinterpret_cast<uint64_t *>(p));
}
inline void EmulatePause() { commsched::testing::cuda::Pause(); }
inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  return commsched::testing::cuda::AtomicAdd(reinterpret_cast<uint64_t *>(p), v);
}
inline unsigned long long atomicMax(unsigned long long *p, unsigned long long v) {
  return commsched::testing::cuda::AtomicMax(reinterpret_cast<uint64_t *>(p), v);
}
inline unsigned long long atomicExch(unsigned long long *p, unsigned long long v) {
  return commsched::testing::cuda::AtomicExchange(reinterpret_cast<uint64_t *>(p), v);
}

#endif  // COMMSCHED_TESTS_OPS_CUDA_EMULATION_H
