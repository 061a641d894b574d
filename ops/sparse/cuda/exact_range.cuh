// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range in which the k-th magnitude of an array is, with CUDA: at first from
// a sample, then narrowed by a histogram of it, again and again.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_EXACT_RANGE_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_EXACT_RANGE_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/exact_phases.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

__device__ inline Range MakeRange(uint32_t low, uint32_t high, uint32_t rank,
                                  bool in_array) {
  Range range = {low, high, rank, 0, in_array, high - low <= 1, 0};
  if (range.known != 0) return range;
  while (((high - low - 1) >> range.shift) >= kBins) ++range.shift;
  return range;
}

// Everything is in it.
template <class F>
__device__ inline Range WholeRange(const Item &item) {
  const auto infinity = uint32_t(F::kInfinity);
  return MakeRange(item.k == 0 ? infinity : 0, infinity, uint32_t(item.k),
                   false);
}

// Of an array from which there is a sample: one block, whose threads each have
// the elements of kSampleLines / kThreads lines. 21 bits are enough of a guess.
template <class F>
__device__ inline Range SampledRange(const Item &item, Shared &shared) {
  using S = typename F::Storage;
  constexpr int kEach = kSample / kThreads;
  const auto *x = static_cast<const S *>(item.x);
  const auto *residual = static_cast<const S *>(item.residual);
  const bool aligned = IsAligned(x) && IsAligned(residual);
  const int64_t stretch = item.size / kSampleLines;
  uint32_t keys[kEach];
  COMMSCHED_UNROLL
  for (int i = 0; i < kEach; i += Vector<F>::kCount) {
    const int64_t at =
        SampleAt(uint32_t(i / kLine * kThreads) + threadIdx.x, stretch) +
        i % kLine;
    const Vector<F> v = LoadVector<F>(x + at, aligned);
    COMMSCHED_UNROLL
    for (int j = 0; j < Vector<F>::kCount; ++j) keys[i + j] = v.Get(j);
    if (residual == nullptr) continue;
    const Vector<F> r = LoadVector<F>(residual + at, aligned);
    COMMSCHED_UNROLL
    for (int j = 0; j < Vector<F>::kCount; ++j)
      keys[i + j] = F::Store(F::Load(S(r.Get(j))) + F::Load(S(keys[i + j])));
  }
  constexpr int kHigh = F::kBits - 11, kLow = kHigh > 10 ? kHigh - 10 : 0;
  constexpr uint32_t kHalf = kBins / 2;
  __syncthreads();
  ClearBins(shared);
  __syncthreads();
  COMMSCHED_UNROLL
  for (int i = 0; i < kEach; ++i) {
    keys[i] &= F::kMagnitude;
    atomicAdd(&shared.bins[keys[i] >> kHigh], 1u);
  }
  __syncthreads();
  const Bin low = FindBin<kBins>(shared.bins, item.low_rank, shared);
  __syncthreads();
  const Bin high = FindBin<kBins>(shared.bins, item.high_rank, shared);
  __syncthreads();
  ClearBins(shared);
  __syncthreads();
  COMMSCHED_UNROLL
  for (int i = 0; i < kEach; ++i) {
    const uint32_t next = (keys[i] >> kLow) & ((1u << (kHigh - kLow)) - 1);
    if (keys[i] >> kHigh == low.bin) atomicAdd(&shared.bins[next], 1u);
    if (keys[i] >> kHigh == high.bin) atomicAdd(&shared.bins[kHalf + next], 1u);
  }
  __syncthreads();
  const Bin low_end = FindBin<kHalf>(shared.bins, low.rank, shared);
  __syncthreads();
  const Bin high_end = FindBin<kHalf>(shared.bins + kHalf, high.rank, shared);
  // With numbers in the sample that are not finite it does not matter.
  const uint32_t from =
      min(low.bin << kHigh | low_end.bin << kLow, uint32_t(F::kInfinity));
  const uint32_t to = min((high.bin << kHigh | high_end.bin << kLow) + (1u << kLow),
                          uint32_t(F::kInfinity));
  return MakeRange(from, max(from, to), uint32_t(item.k), false);
}

// The state of an array, and its first range: one block.
template <class F>
__device__ inline void Begin(const Item &item, State &state, Shared &shared) {
  for (int i = int(threadIdx.x); i < kRangeLevels * kBins; i += kThreads)
    state.bins[i / kBins][i % kBins] = 0;
  Range range = WholeRange<F>(item);
  if (item.low_rank != 0 && !IsRefused(item))
    range = SampledRange<F>(item, shared);
  if (threadIdx.x != 0) return;
  state.non_finite = state.first_inverted = 0;
  state.candidates = state.above = state.listed = 0;
  state.range = range;
  for (uint32_t &done : state.done) done = 0;
}

// What all blocks have counted of the range becomes a range within it, or
// beside it: by the last block of an array.
template <class F>
__device__ inline void Narrow(const Item &item, State &state, int level,
                              Shared &shared) {
  Range range = state.range;
  const auto k = uint32_t(item.k);
  const uint32_t above = state.above, candidates = state.candidates;
  if (item.k == 0 || IsRefused(item) || state.non_finite != 0) {
    range.known = 1;
  } else if (level == 0 && above >= k) {
    range = MakeRange(range.high, uint32_t(F::kInfinity), k, false);
  } else if (level == 0 && candidates < k) {
    range = MakeRange(0, range.low, k - candidates, true);
  } else if (level == 0 || (range.known | range.few) == 0) {
    const Bin bin = FindBin<kBins>(
        state.bins[level], level == 0 ? k - above : range.rank, shared);
    const uint32_t low = range.low + (bin.bin << range.shift);
    range = MakeRange(low, min(range.high, low + (1u << range.shift)), bin.rank,
                      range.in_array != 0);
    range.few = range.known == 0 && state.bins[level][bin.bin] <= kFew;
  }
  __syncthreads();
  if (threadIdx.x == 0) state.range = range;
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_EXACT_RANGE_CUH
