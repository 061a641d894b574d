// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of exact selection with CUDA, and their order. Compiled by nvcc,
// and for the tests by a C++ compiler with an emulation of what they use of
// CUDA.
//
// One read of the array keeps as candidates what is larger than a threshold
// from a sample; the k-th magnitude is found among them by radix, 11 bits and
// fewer at a time. A tile has room for some candidates; where they do not fit,
// and everywhere if they are too few, the same kernels go through the array
// itself instead (three more reads, then two). Nothing depends on the order in
// which blocks run.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH

#include <cstdint>

#include "ops/sparse/cuda/cut_kernels.cuh"
#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// The bin from the top in which the rank-th (from 1) is, and the rank in it.
// `sums` is shared, for 256 + 32 numbers; called by all threads of a block.
struct Bin {
  uint32_t bin, rank;
};
__device__ inline Bin FindBin(const uint32_t *bins, uint32_t rank,
                              uint32_t *sums, Bin *found) {
  constexpr int kEach = kBins / 256;
  if (threadIdx.x < 256) {
    uint32_t sum = 0;
    for (int i = 0; i < kEach; ++i) sum += bins[threadIdx.x * kEach + i];
    sums[threadIdx.x] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    uint32_t sum = 0;
    for (int i = 0; i < 8; ++i) sum += sums[threadIdx.x * 8 + i];
    sums[256 + threadIdx.x] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int i = 31;
    for (; i > 0 && sums[256 + i] < rank; --i) rank -= sums[256 + i];
    int j = i * 8 + 7;
    for (; j > i * 8 && sums[j] < rank; --j) rank -= sums[j];
    int bin = j * kEach + kEach - 1;
    for (; bin > j * kEach && bins[bin] < rank; --bin) rank -= bins[bin];
    *found = {uint32_t(bin), rank};
  }
  __syncthreads();
  return *found;
}

// One block for each array: the threshold.
template <class F>
__global__ void SampleKernel(const Item *items, State *states) {
  using S = typename F::Storage;
  const Item &item = items[blockIdx.x];
  State &state = states[blockIdx.x];
  __shared__ uint32_t keys[kSample];
  __shared__ uint32_t bins[kBins];
  __shared__ uint32_t sums[256 + 32];
  __shared__ Bin found;
  if (IsRefused(item)) return;
  if (item.k == 0 || item.sample_rank == 0) {
    if (threadIdx.x == 0) state.above = item.k == 0 ? F::kInfinity - 1 : -1;
    return;
  }
  const int64_t stretch = item.size / kSampleLines;
  for (int i = int(threadIdx.x); i < kSample; i += kSampleThreads) {
    const int64_t line = i / kLine;
    const int64_t at =
        line * stretch +
        int64_t(Mix(uint64_t(line)) % uint64_t(stretch - kLine + 1)) +
        i % kLine;
    uint32_t v = static_cast<const S *>(item.x)[at];
    if (item.residual != nullptr)
      v = F::Store(F::Load(static_cast<const S *>(item.residual)[at]) +
                   F::Load(S(v)));
    keys[i] = v & F::kMagnitude;
  }
  uint32_t known = 0, rank = item.sample_rank;
  for (int pass = 0; pass < F::kPassCount; ++pass) {
    for (int i = int(threadIdx.x); i < kBins; i += kSampleThreads) bins[i] = 0;
    __syncthreads();
    const int high = F::Shift(pass), low = F::Shift(pass + 1);
    for (int i = int(threadIdx.x); i < kSample; i += kSampleThreads)
      if (keys[i] >> high == known)
        atomicAdd(&bins[(keys[i] >> low) & ((1u << (high - low)) - 1)], 1u);
    __syncthreads();
    const Bin bin = FindBin(bins, rank, sums, &found);
    known = known << (high - low) | bin.bin;
    rank = bin.rank;
    __syncthreads();
  }
  if (threadIdx.x == 0) state.above = min(int32_t(known) - 1, F::kInfinity - 1);
}

// The sum, the candidates, and what is not finite.
template <class F>
__global__ void __launch_bounds__(kThreads, 2)
    FilterKernel(const Item *items, State *states, const uint32_t *group_item) {
  using S = typename F::Storage;
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  State &state = states[number];
  if (IsRefused(item)) return;
  const int32_t above = state.above;
  const auto *x = static_cast<const S *>(item.x);
  const auto *residual = static_cast<const S *>(item.residual);
  auto *sum = static_cast<S *>(item.sum);
  const int lane = Lane();
  uint32_t found = 0;
  for (int j = 0; j < kTilesOfWarp; ++j) {
    const int64_t tile = int64_t(blockIdx.x - item.first_group) * kGroupTiles +
                         WarpNumber() * kTilesOfWarp + j;
    const int64_t begin = tile * kTile;
    if (begin >= item.size) {
      if (lane == 0) item.tile_count[tile] = 0;
      continue;
    }
    const int n = int(min(int64_t(kTile), item.size - begin));
    // Whether there is an element i of this lane: of a whole tile, always.
    const auto there = [n, lane](int i) { return i * kWarp + lane < n; };
    S v[kPerLane];
    COMMSCHED_UNROLL
    for (int i = 0; i < kPerLane; ++i)
      v[i] = there(i) ? x[begin + lane + i * kWarp] : S(0);
    if (residual != nullptr) {
      // All is read before something is written: it may be the same memory.
      S r[kPerLane];
      COMMSCHED_UNROLL
      for (int i = 0; i < kPerLane; ++i)
        r[i] = there(i) ? residual[begin + lane + i * kWarp] : S(0);
      COMMSCHED_UNROLL
      for (int i = 0; i < kPerLane; ++i)
        if (there(i))
          sum[begin + lane + i * kWarp] = v[i] =
              F::Store(F::Load(r[i]) + F::Load(v[i]));
    }
    uint32_t count = 0, bad = 0;
    COMMSCHED_UNROLL
    for (int i = 0; i < kPerLane; ++i) {
      const int32_t magnitude = int32_t(v[i] & F::kMagnitude);
      count += magnitude > above && there(i);
      bad += magnitude >= F::kInfinity && there(i);
    }
    count = WarpSum(count);
    if (bad != 0) {
      int first = 0;
      COMMSCHED_UNROLL
      for (int i = kPerLane - 1; i >= 0; --i)
        if (there(i) && int32_t(v[i] & F::kMagnitude) >= F::kInfinity)
          first = i;
      atomicMax(&state.first_inverted,
                ~(unsigned long long)(begin + lane + first * kWarp));
      atomicAdd(&state.non_finite, (unsigned long long)(bad));
    }
    found += count;
    const bool fits = count <= item.slots;
    if (lane == 0) item.tile_count[tile] = fits ? count : kManyCandidates;
    if (!fits || count == 0) continue;
    int64_t slot = tile * item.slots;
    COMMSCHED_UNROLL
    for (int i = 0; i < kPerLane; ++i) {
      const bool hit = int32_t(v[i] & F::kMagnitude) > above && there(i);
      const unsigned hits = __ballot_sync(kAll, hit);
      if (hit) {
        const int64_t own = slot + __popc(hits & Before());
        item.bits[own] = v[i];
        item.at[own] = uint16_t(lane + i * kWarp);
      }
      slot += __popc(hits);
    }
  }
  __shared__ uint32_t found_by_warp[kWarps];
  if (lane == 0) found_by_warp[WarpNumber()] = found;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kWarps; ++w) found += found_by_warp[w];
    if (found != 0) atomicAdd(&state.candidates, found);
  }
}

// The next bits of the k-th magnitude.
template <class F>
__global__ void RadixKernel(const Item *items, State *states,
                            const uint32_t *group_item, int pass) {
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  State &state = states[number];
  __shared__ uint32_t bins[kBins];
  __shared__ uint32_t sums[256 + 32];
  __shared__ Bin found;
  __shared__ bool last;
  if (item.k == 0 || IsRefused(item)) return;
  for (int i = int(threadIdx.x); i < kBins; i += kThreads) bins[i] = 0;
  __syncthreads();
  const int high = F::Shift(pass), low = F::Shift(pass + 1);
  const uint32_t known = pass == 0 ? 0 : state.kth;
  const bool candidates = UseCandidates(item, state);
  const int64_t first = int64_t(blockIdx.x - item.first_group) * kGroupTiles +
                        WarpNumber() * kTilesOfWarp;
  for (int64_t tile = first; tile < first + kTilesOfWarp; ++tile)
    ForTile<F>(item, candidates, tile, [&](uint32_t bits, int64_t, bool there) {
      const uint32_t magnitude = bits & F::kMagnitude;
      if (there && magnitude >> high == known)
        atomicAdd(&bins[(magnitude >> low) & ((1u << (high - low)) - 1)], 1u);
    });
  __syncthreads();
  for (int i = int(threadIdx.x); i < kBins; i += kThreads)
    if (bins[i] != 0) atomicAdd(&state.bins[pass][i], bins[i]);
  if (!IsLast(&state.ticket, item.groups, &last)) return;
  for (int i = int(threadIdx.x); i < kBins; i += kThreads)
    bins[i] = atomicAdd(&state.bins[pass][i], 0u);
  __syncthreads();
  const uint32_t rank = pass == 0 ? uint32_t(item.k) : state.left;
  const Bin bin = FindBin(bins, rank, sums, &found);
  if (threadIdx.x == 0) {
    state.kth = known << (high - low) | bin.bin;
    state.left = bin.rank;
    if (pass + 1 == F::kPassCount)
      state.cut = {state.kth + 1, state.kth, 0, bin.rank};
  }
}

// All of it: `launch(kernel, blocks, threads, arguments...)`. The states are 0.
template <class F, class Index, class Launch>
void EnqueueExact(const Item *items, State *states, const uint32_t *group_item,
                  uint32_t item_count, uint32_t group_count,
                  const Launch &launch) {
  if (group_count == 0) return;
  launch(SampleKernel<F>, item_count, kSampleThreads, items, states);
  launch(FilterKernel<F>, group_count, kThreads, items, states, group_item);
  for (int pass = 0; pass < F::kPassCount; ++pass)
    launch(RadixKernel<F>, group_count, kThreads, items, states, group_item,
           pass);
  EnqueueCut<F, Index>(items, states, group_item, group_count, launch);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH
