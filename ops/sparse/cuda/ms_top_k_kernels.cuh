// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of MSTopK with CUDA: ops/sparse/ms_top_k.cc, bit for bit, with
// the sums in the order that ops/sparse/scan.h gives. One read for the mean,
// one for each step, two to write what is selected. After an early stop the
// kernels of the other steps return at once: the host is not asked.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_MS_TOP_K_KERNELS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_MS_TOP_K_KERNELS_CUH

#include <cstdint>

#include "ops/sparse/cuda/cut_kernels.cuh"
#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// The smallest magnitude that is `threshold` or more.
template <class F>
__device__ inline uint32_t MagnitudeFrom(double threshold) {
  using S = typename F::Storage;
  if (threshold <= 0) return 0;
  const auto value = [](int32_t magnitude) {
    return double(F::Load(S(magnitude)));
  };
  auto magnitude = int32_t(F::Store(float(threshold)) & F::kMagnitude);
  while (magnitude < F::kInfinity && value(magnitude) < threshold) ++magnitude;
  while (magnitude > 0 && value(magnitude - 1) >= threshold) --magnitude;
  return uint32_t(magnitude);
}

// The middle of what is left.
template <class F>
__device__ inline void TryNext(Bisection *b) {
  const double ratio = b->left + (b->right - b->left) / 2;
  b->magnitude = MagnitudeFrom<F>(b->mean + ratio * (b->largest - b->mean));
  b->count = 0;
}

// The sum with the residual, what is not finite, mean and largest magnitude.
template <class F>
__global__ void __launch_bounds__(kThreads, 2)
    MeasureKernel(const Item *items, State *states,
                  const uint32_t *group_item) {
  using S = typename F::Storage;
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  State &state = states[number];
  const auto *x = static_cast<const S *>(item.x);
  const auto *residual = static_cast<const S *>(item.residual);
  auto *sum = static_cast<S *>(item.sum);
  const int lane = Lane();
  __shared__ double tile_sums[kGroupTiles];
  __shared__ bool last;
  if (IsRefused(item)) return;
  const uint32_t group = blockIdx.x - item.first_group;
  uint32_t largest = 0;
  for (int j = 0; j < kTilesOfWarp; ++j) {
    const int t = WarpNumber() * kTilesOfWarp + j;
    const int64_t begin = (int64_t(group) * kGroupTiles + t) * kTile + lane;
    // Of one column of the tile, from the top.
    double column = 0;
    S v[kPerLane];
    COMMSCHED_UNROLL
    for (int i = 0; i < kPerLane; ++i) {
      const int64_t at = begin + i * kWarp;
      v[i] = at < item.size ? x[at] : S(0);
    }
    if (residual != nullptr) {
      // All is read before something is written: it may be the same memory.
      S r[kPerLane];
      COMMSCHED_UNROLL
      for (int i = 0; i < kPerLane; ++i) {
        const int64_t at = begin + i * kWarp;
        r[i] = at < item.size ? residual[at] : S(0);
      }
      COMMSCHED_UNROLL
      for (int i = 0; i < kPerLane; ++i) {
        const int64_t at = begin + i * kWarp;
        if (at < item.size)
          sum[at] = v[i] = F::Store(F::Load(r[i]) + F::Load(v[i]));
      }
    }
    uint32_t own = 0;
    COMMSCHED_UNROLL
    for (int i = 0; i < kPerLane; ++i) {
      const uint32_t magnitude = v[i] & F::kMagnitude;
      own = max(own, magnitude);
      column += double(F::Load(S(magnitude)));
    }
    largest = max(largest, own);
    if (int32_t(own) >= F::kInfinity) {
      const S *array = residual != nullptr ? sum : x;
      for (int64_t i = begin; i < begin + kTile && i < item.size; i += kWarp)
        if (int32_t(array[i] & F::kMagnitude) >= F::kInfinity) {
          atomicAdd(&state.non_finite, 1ull);
          atomicMax(&state.first_inverted, ~(unsigned long long)(i));
        }
    }
    column = WarpSum(column);
    if (lane == 0) tile_sums[t] = column;
  }
  largest = WarpMax(largest);
  if (lane == 0) atomicMax(&state.bisection.largest_bits, largest);
  __syncthreads();
  if (WarpNumber() == 0) {
    const double group_sum = WarpSum(tile_sums[lane]);
    if (lane == 0)
      item.group_sum[group] =
          __builtin_bit_cast(unsigned long long, group_sum);
  }
  if (!IsLast(&state.ticket, item.groups, &last)) return;
  if (WarpNumber() != 0) return;
  double total = 0;
  // Several loads at once; the order of the sum is fixed.
  constexpr uint32_t kEach = 8;
  for (uint32_t first = uint32_t(lane); first < item.groups;
       first += kEach * kWarp) {
    unsigned long long sums[kEach];
    COMMSCHED_UNROLL
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t g = first + i * kWarp;
      sums[i] = g < item.groups ? item.group_sum[g] : 0;
    }
    COMMSCHED_UNROLL
    for (uint32_t i = 0; i < kEach; ++i)
      total += __builtin_bit_cast(double, sums[i]);
  }
  total = WarpSum(total);
  if (lane != 0) return;
  Bisection &b = state.bisection;
  b.mean = total / double(item.size);
  b.largest = double(F::Load(S(atomicMax(&b.largest_bits, 0u))));
  b.left = 0;
  b.right = 1;
  b.high = 0x7fffffff;
  b.low = 0;
  b.above_high = 0;
  b.above_low = uint32_t(item.size);
  b.done = item.k == 0 || atomicAdd(&state.non_finite, 0ull) != 0;
  if (b.done == 0) TryNext<F>(&b);
}

// Counts what is not below the threshold, and says what the next one is, or
// what is selected.
template <class F>
__global__ void StepKernel(const Item *items, State *states,
                           const uint32_t *group_item, bool is_last_step,
                           bool stop_early, uint64_t seed) {
  using S = typename F::Storage;
  const uint32_t number = group_item[blockIdx.x];
  const Item &item = items[number];
  State &state = states[number];
  Bisection &b = state.bisection;
  __shared__ uint32_t counts[kWarps];
  __shared__ bool last;
  if (b.done != 0 || IsRefused(item)) return;
  const auto *array =
      static_cast<const S *>(item.residual != nullptr ? item.sum : item.x);
  const uint32_t magnitude = b.magnitude;
  const int64_t first =
      (int64_t(blockIdx.x - item.first_group) * kGroupTiles +
       WarpNumber() * kTilesOfWarp) *
          kTile +
      Lane();
  uint32_t count = 0;
  for (int t = 0; t < kTilesOfWarp; ++t) {
    const int64_t begin = first + t * kTile;
    COMMSCHED_UNROLL
    for (int i = 0; i < kPerLane; ++i) {
      const int64_t at = begin + i * kWarp;
      if (at < item.size)
        count += uint32_t(array[at] & F::kMagnitude) >= magnitude;
    }
  }
  count = WarpSum(count);
  if (Lane() == 0) counts[WarpNumber()] = count;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kWarps; ++w) count += counts[w];
    if (count != 0) atomicAdd(&b.count, count);
  }
  if (!IsLast(&state.ticket, item.groups, &last)) return;
  if (threadIdx.x != 0) return;
  const uint32_t k = uint32_t(item.k), found = atomicAdd(&b.count, 0u);
  const double ratio = b.left + (b.right - b.left) / 2;
  bool done = is_last_step;
  if (found <= k) {
    b.right = ratio;
    if (found > b.above_high) {
      b.high = magnitude;
      b.above_high = found;
    }
    done = done || (found == k && stop_early);
  } else {
    b.left = ratio;
    if (found < b.above_low) {
      b.low = magnitude;
      b.above_low = found;
    }
  }
  if (!done) return TryNext<F>(&b);
  const uint32_t missing = k - b.above_high;
  const uint64_t between = b.above_low - b.above_high;
  state.cut.high = b.high;
  state.cut.low = missing == 0 ? b.high : b.low;
  state.cut.begin = uint32_t(Mix(seed) % (between - missing + 1));
  state.cut.missing = missing;
  b.done = 1;
}

// All of it, as of EnqueueExact; `steps` 1 or more.
template <class F, class Index, class Launch>
void EnqueueMsTopK(const Item *items, State *states, const uint32_t *group_item,
                   uint32_t group_count, int steps, uint64_t seed,
                   bool stop_early, const Launch &launch) {
  if (group_count == 0) return;
  launch(MeasureKernel<F>, group_count, kThreads, items, states, group_item);
  for (int step = 1; step <= steps; ++step)
    launch(StepKernel<F>, group_count, kThreads, items, states, group_item,
           step == steps, stop_early, seed);
  EnqueueCut<F, Index>(items, states, group_item, group_count, launch);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_MS_TOP_K_KERNELS_CUH
