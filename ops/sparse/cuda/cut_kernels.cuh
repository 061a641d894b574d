// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that write what a cut of MSTopK selects, in the order of the array.
// Compiled by nvcc, and for the tests by a C++ compiler with an emulation of
// what they use of CUDA. Nothing depends on the order in which blocks run.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_CUT_KERNELS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_CUT_KERNELS_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// function(bits, place in the array, whether there is one) for the elements of
// a tile, in order, 32 at a time: by all lanes of a warp.
template <class F, class Function>
__device__ inline void ForTile(const Item &item, int64_t tile,
                               Function function) {
  using S = typename F::Storage;
  const int64_t begin = tile * kTile;
  const auto *array =
      static_cast<const S *>(item.residual != nullptr ? item.sum : item.x);
  for (int i = 0; i < kPerLane && begin + i * kWarp < item.size; ++i) {
    const int64_t at = begin + i * kWarp + Lane();
    const bool there = at < item.size;
    function(there ? uint32_t(array[at]) : 0, at, there);
  }
}

// How many of each tile and group are above the cut and in it; then, for a
// group, how many before it.
template <class F>
__global__ void __launch_bounds__(kThreads, 6)
    CountKernel(const Item *items, State *states, const uint32_t *group_item) {
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  State &state = states[number];
  __shared__ uint32_t group_above, group_within;
  __shared__ uint32_t sums[kWarps];
  __shared__ bool last;
  if (item.k == 0 || state.non_finite != 0 || IsRefused(item)) return;
  if (threadIdx.x == 0) group_above = group_within = 0;
  __syncthreads();
  const Cut cut = state.cut;
  const uint32_t group = blockIdx.x - item.first_group;
  const int64_t first =
      int64_t(group) * kGroupTiles + WarpNumber() * kTilesOfWarp;
  for (int64_t tile = first; tile < first + kTilesOfWarp; ++tile) {
    uint32_t above = 0, within = 0;
    ForTile<F>(item, tile, [&](uint32_t bits, int64_t, bool there) {
      const uint32_t magnitude = bits & F::kMagnitude;
      above += there && magnitude >= cut.high;
      within += there && magnitude >= cut.low && magnitude < cut.high;
    });
    above = WarpSum(above);
    within = WarpSum(within);
    if (Lane() == 0) {
      item.tile_above[tile] = above;
      item.tile_within[tile] = within;
      if (above != 0) atomicAdd(&group_above, above);
      if (within != 0) atomicAdd(&group_within, within);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    item.group_above[group] = group_above;
    item.group_within[group] = group_within;
  }
  if (!IsLast(&state.ticket, item.groups, &last)) return;
  CountsBefore<kWarps>(item.group_above, item.groups, sums);
  CountsBefore<kWarps>(item.group_within, item.groups, sums);
}

// Values and indices, and 0 in the sum where they were.
template <class F, class Index>
__global__ void EmitKernel(const Item *items, const State *states,
                           const uint32_t *group_item) {
  using S = typename F::Storage;
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  const State &state = states[number];
  if (item.k == 0 || state.non_finite != 0 || IsRefused(item)) return;
  const Cut cut = state.cut;
  const uint32_t group = blockIdx.x - item.first_group;
  // Each warp adds up the tiles of the group before its own.
  const int64_t own = int64_t(group) * kGroupTiles + Lane();
  const uint32_t above_before =
      item.group_above[group] + WarpPrefix(item.tile_above[own]);
  const uint32_t within_before =
      item.group_within[group] + WarpPrefix(item.tile_within[own]);
  for (int j = 0; j < kTilesOfWarp; ++j) {
    const int t = WarpNumber() * kTilesOfWarp + j;
    uint32_t above = __shfl_sync(kAll, above_before, t);
    uint32_t within = __shfl_sync(kAll, within_before, t);
    ForTile<F>(
        item, int64_t(group) * kGroupTiles + t,
        [&](uint32_t bits, int64_t at, bool there) {
          const uint32_t magnitude = bits & F::kMagnitude;
          const bool is_above = there && magnitude >= cut.high;
          const bool is_within =
              there && magnitude >= cut.low && magnitude < cut.high;
          const unsigned aboves = __ballot_sync(kAll, is_above);
          const unsigned withins = __ballot_sync(kAll, is_within);
          const uint32_t a = above + uint32_t(__popc(aboves & Before()));
          const uint32_t w = within + uint32_t(__popc(withins & Before()));
          // Of those before that are within, those of the run.
          const uint32_t run =
              w < cut.begin ? 0 : min(w - cut.begin, cut.missing);
          if (is_above || (is_within && w >= cut.begin && run < cut.missing)) {
            const uint32_t place = a + run;
            static_cast<S *>(item.values)[place] = S(bits);
            static_cast<Index *>(item.indices)[place] = Index(at);
            if (item.residual != nullptr) static_cast<S *>(item.sum)[at] = 0;
          }
          above += uint32_t(__popc(aboves));
          within += uint32_t(__popc(withins));
        });
  }
}

template <class F, class Index, class Launch>
void EnqueueCut(const Item *items, State *states, const uint32_t *group_item,
                uint32_t group_count, const Launch &launch) {
  launch(CountKernel<F>, group_count, kThreads, items, states, group_item);
  launch(EmitKernel<F, Index>, group_count, kThreads, items,
         static_cast<const State *>(states), group_item);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_CUT_KERNELS_CUH
