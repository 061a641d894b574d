// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases of one kernel, with CUDA: how blocks share the work of a phase out, and
// how they wait for all of the phase before.
//
// Work is handed out by tickets, one after the other, and a block waits for a
// phase only when there is none left of it. So whatever a block waits for has
// been taken by a block that runs: it does not matter how many run at once.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_EXACT_PHASES_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_EXACT_PHASES_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"

namespace commsched::ops::sparse::cuda {

// Shared memory of a block.
struct Shared {
  uint32_t bins[kBins];
  uint32_t sums[kWarps], others[kWarps];
  uint32_t bin, rank;
  uint32_t candidates, above;
  uint32_t ticket;
  bool last;
};

// The next number of those that *ticket hands out. By all threads of the block.
__device__ inline uint32_t Take(uint32_t *ticket, Shared &shared) {
  __syncthreads();
  if (threadIdx.x == 0) shared.ticket = atomicAdd(ticket, 1u);
  __syncthreads();
  return shared.ticket;
}

// Returns when *number is `count`; what those wrote who have made it that is
// seen then. By all threads of the block.
__device__ inline void WaitFor(uint32_t *number, uint32_t count) {
  if (threadIdx.x == 0)
    while (LoadAtomic(number) < count) Pause();
  __syncthreads();
  Fence();
}

// Adds `count` to *number when all threads of the block are here; what they
// have written is seen by who waits for it, or gets `all`: then it returns true.
__device__ inline bool AddDone(uint32_t *number, uint32_t count, uint32_t all,
                               Shared &shared) {
  Fence();
  __syncthreads();
  if (threadIdx.x == 0) shared.last = atomicAdd(number, count) + count == all;
  __syncthreads();
  Fence();
  return shared.last;
}

// Of the threads of the block before this one.
__device__ inline uint32_t BlockPrefix(uint32_t v, Shared &shared) {
  uint32_t before = WarpPrefix(v);
  __syncthreads();
  if (Lane() == kWarp - 1) shared.sums[WarpNumber()] = before + v;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w)
    if (w < WarpNumber()) before += shared.sums[w];
  return before;
}

// The bin of bins[0 .. kCount) in which the rank-th (from 1) from the top is,
// and the rank in it.
struct Bin {
  uint32_t bin, rank;
};
template <int kCount>
__device__ inline Bin FindBin(const uint32_t *bins, uint32_t rank,
                              Shared &shared) {
  constexpr int kEach = kCount / kThreads;
  const int first = kCount - kEach * int(threadIdx.x + 1);
  uint32_t own[kEach], sum = 0;
  COMMSCHED_UNROLL
  for (int i = 0; i < kEach; ++i) sum += own[i] = bins[first + i];
  const uint32_t before = BlockPrefix(sum, shared);
  if (before < rank && rank <= before + sum) {
    uint32_t left = rank - before;
    bool found = false;
    COMMSCHED_UNROLL
    for (int i = kEach - 1; i >= 0; --i) {
      if (!found && own[i] >= left) {
        shared.bin = uint32_t(first + i);
        shared.rank = left;
        found = true;
      }
      if (!found) left -= own[i];
    }
  }
  __syncthreads();
  return {shared.bin, shared.rank};
}

__device__ inline void ClearBins(Shared &shared) {
  for (int i = int(threadIdx.x); i < kBins; i += kThreads) shared.bins[i] = 0;
}

// Adds one to a bin for each lane that has one; by all lanes of a warp, of which
// many may have the same.
__device__ inline void AddToBins(uint32_t *bins, uint32_t bin, bool there) {
  const unsigned lanes = __ballot_sync(kAll, there);
  if (lanes == 0) return;
  const int first = __ffs(int(lanes)) - 1;
  const uint32_t common = __shfl_sync(kAll, bin, first);
  const unsigned alike = __ballot_sync(kAll, there && bin == common);
  if (Lane() == first)
    atomicAdd(&bins[common], uint32_t(__popc(alike)));
  else if (there && bin != common)
    atomicAdd(&bins[bin], 1u);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_EXACT_PHASES_CUH
