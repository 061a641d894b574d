// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of the CUDA selection, and their order. Compiled by nvcc, and for
// the tests by a C++ compiler with an emulation of what they use of CUDA.
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
      COMMSCHED_UNROLL
      for (int i = 0; i < kPerLane; ++i)
        if (there(i)) {
          const int64_t at = begin + lane + i * kWarp;
          v[i] = F::Store(F::Load(residual[at]) + F::Load(v[i]));
          sum[at] = v[i];
        }
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

// Whether the candidates hold what is to be selected.
__device__ inline bool UseCandidates(const Item &item, const State &state) {
  return state.candidates >= uint64_t(item.k);
}

// function(bits, place in the array, whether there is one) for the candidates
// of a tile, or all its elements, in order, 32 at a time: by all lanes of a
// warp.
template <class F, class Function>
__device__ inline void ForTile(const Item &item, bool candidates, int64_t tile,
                               Function function) {
  using S = typename F::Storage;
  const int64_t begin = tile * kTile;
  const uint32_t count = item.tile_count[tile];
  if (candidates && count != kManyCandidates) {
    const int64_t slot = tile * item.slots;
    for (uint32_t i = uint32_t(Lane()); i - Lane() < count; i += kWarp) {
      const bool there = i < count;
      function(there ? item.bits[slot + i] : 0,
               there ? begin + item.at[slot + i] : 0, there);
    }
    return;
  }
  const auto *array =
      static_cast<const S *>(item.residual != nullptr ? item.sum : item.x);
  for (int i = 0; i < kPerLane && begin + i * kWarp < item.size; ++i) {
    const int64_t at = begin + i * kWarp + Lane();
    const bool there = at < item.size;
    function(there ? uint32_t(array[at]) : 0, at, there);
  }
}

// Whether this block is the last of its array to come here; what the others
// wrote before is seen then. Called by all threads.
__device__ inline bool IsLast(uint32_t *ticket, uint32_t groups, bool *last) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *last = atomicAdd(ticket, 1u) == groups - 1;
  __syncthreads();
  __threadfence();
  return *last;
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
  if (item.k == 0) return;
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
  if (!IsLast(&state.tickets[pass], item.groups, &last)) return;
  for (int i = int(threadIdx.x); i < kBins; i += kThreads)
    bins[i] = atomicAdd(&state.bins[pass][i], 0u);
  __syncthreads();
  const uint32_t rank = pass == 0 ? uint32_t(item.k) : state.left;
  const Bin bin = FindBin(bins, rank, sums, &found);
  if (threadIdx.x == 0) {
    state.kth = known << (high - low) | bin.bin;
    state.left = bin.rank;
  }
}

// How many of each tile and group are above the k-th magnitude and equal to it;
// then, for a group, how many before it.
template <class F>
__global__ void CountKernel(const Item *items, State *states,
                            const uint32_t *group_item) {
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  State &state = states[number];
  __shared__ uint32_t group_above, group_equal;
  __shared__ bool last;
  if (item.k == 0) return;
  if (threadIdx.x == 0) group_above = group_equal = 0;
  __syncthreads();
  const bool candidates = UseCandidates(item, state);
  const uint32_t kth = state.kth;
  const uint32_t group = blockIdx.x - item.first_group;
  const int64_t first =
      int64_t(group) * kGroupTiles + WarpNumber() * kTilesOfWarp;
  for (int64_t tile = first; tile < first + kTilesOfWarp; ++tile) {
    uint32_t above = 0, equal = 0;
    ForTile<F>(item, candidates, tile, [&](uint32_t bits, int64_t, bool there) {
      const uint32_t magnitude = bits & F::kMagnitude;
      above += there && magnitude > kth;
      equal += there && magnitude == kth;
    });
    above = WarpSum(above);
    equal = WarpSum(equal);
    if (Lane() == 0) {
      item.tile_above[tile] = above;
      item.tile_equal[tile] = equal;
      if (above != 0) atomicAdd(&group_above, above);
      if (equal != 0) atomicAdd(&group_equal, equal);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicExch(&item.group_above[group], group_above);
    atomicExch(&item.group_equal[group], group_equal);
  }
  if (!IsLast(&state.tickets[kPasses], item.groups, &last)) return;
  if (WarpNumber() != 0) return;
  uint32_t above = 0, equal = 0;
  for (uint32_t begin = 0; begin < item.groups; begin += kWarp) {
    const uint32_t g = begin + uint32_t(Lane());
    const bool there = g < item.groups;
    const uint32_t a = there ? atomicAdd(&item.group_above[g], 0u) : 0;
    const uint32_t e = there ? atomicAdd(&item.group_equal[g], 0u) : 0;
    const uint32_t a_before = WarpPrefix(a), e_before = WarpPrefix(e);
    if (there) {
      item.group_above[g] = above + a_before;
      item.group_equal[g] = equal + e_before;
    }
    above += WarpSum(a);
    equal += WarpSum(e);
  }
}

// Values and indices, and 0 in the sum where they were.
template <class F, class Index>
__global__ void EmitKernel(const Item *items, const State *states,
                           const uint32_t *group_item) {
  using S = typename F::Storage;
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  const State &state = states[number];
  if (item.k == 0 || state.non_finite != 0) return;
  const bool candidates = UseCandidates(item, state);
  const uint32_t kth = state.kth, ties = state.left;
  const uint32_t group = blockIdx.x - item.first_group;
  // Each warp adds up the tiles of the group before its own.
  const int64_t own = int64_t(group) * kGroupTiles + Lane();
  const uint32_t above_before =
      item.group_above[group] + WarpPrefix(item.tile_above[own]);
  const uint32_t equal_before =
      item.group_equal[group] + WarpPrefix(item.tile_equal[own]);
  for (int j = 0; j < kTilesOfWarp; ++j) {
    const int t = WarpNumber() * kTilesOfWarp + j;
    uint32_t above = __shfl_sync(kAll, above_before, t);
    uint32_t equal = __shfl_sync(kAll, equal_before, t);
    ForTile<F>(item, candidates, int64_t(group) * kGroupTiles + t,
               [&](uint32_t bits, int64_t at, bool there) {
                 const uint32_t magnitude = bits & F::kMagnitude;
                 const bool is_above = there && magnitude > kth;
                 const bool is_equal = there && magnitude == kth;
                 const unsigned aboves = __ballot_sync(kAll, is_above);
                 const unsigned equals = __ballot_sync(kAll, is_equal);
                 const uint32_t a = above + uint32_t(__popc(aboves & Before()));
                 const uint32_t e = equal + uint32_t(__popc(equals & Before()));
                 if (is_above || (is_equal && e < ties)) {
                   const uint32_t place = a + min(e, ties);
                   static_cast<S *>(item.values)[place] = S(bits);
                   static_cast<Index *>(item.indices)[place] = Index(at);
                   if (item.residual != nullptr)
                     static_cast<S *>(item.sum)[at] = 0;
                 }
                 above += uint32_t(__popc(aboves));
                 equal += uint32_t(__popc(equals));
               });
  }
}

// All of it: `launch(kernel, blocks, threads, arguments...)`. The states are 0.
template <class F, class Index, class Launch>
void Enqueue(const Item *items, State *states, const uint32_t *group_item,
             uint32_t item_count, uint32_t group_count, const Launch &launch) {
  if (group_count == 0) return;
  launch(SampleKernel<F>, item_count, kSampleThreads, items, states);
  launch(FilterKernel<F>, group_count, kThreads, items, states, group_item);
  for (int pass = 0; pass < F::kPassCount; ++pass)
    launch(RadixKernel<F>, group_count, kThreads, items, states, group_item,
           pass);
  launch(CountKernel<F>, group_count, kThreads, items, states, group_item);
  launch(EmitKernel<F, Index>, group_count, kThreads, items,
         static_cast<const State *>(states), group_item);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_KERNELS_CUH
