// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is done with the candidates of exact selection, with CUDA, span by span.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_EXACT_SPANS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_EXACT_SPANS_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/exact_phases.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// function(bits, place in the array, whether there is one) for the candidates
// of a part, or all its elements, in order, 32 at a time: by all lanes of a
// warp.
template <class F, class Function>
__device__ inline void ForPart(const Item &item, bool in_array, int64_t part,
                               Function function) {
  using S = typename F::Storage;
  constexpr int kEach = 4;  // loads at once
  const int64_t begin = part * item.part_tiles * kTile;
  const uint32_t count = in_array ? kManyCandidates : item.part_count[part];
  if (count != kManyCandidates) {
    const int64_t slot = part * item.slots;
    for (uint32_t i = uint32_t(Lane()); i - Lane() < count; i += kEach * kWarp) {
      uint32_t bits[kEach], at[kEach];
      COMMSCHED_UNROLL
      for (int j = 0; j < kEach; ++j) {
        const bool there = i + j * kWarp < count;
        bits[j] = there ? item.bits[slot + i + j * kWarp] : 0;
        at[j] = there ? item.at[slot + i + j * kWarp] : 0;
      }
      COMMSCHED_UNROLL
      for (int j = 0; j < kEach; ++j)
        if (i - Lane() + j * kWarp < count)
          function(bits[j], begin + at[j], i + j * kWarp < count);
    }
    return;
  }
  const auto *array =
      static_cast<const S *>(item.residual != nullptr ? item.sum : item.x);
  const int64_t end = min(begin + int64_t(item.part_tiles) * kTile, item.size);
  for (int64_t at = begin + Lane(); at - Lane() < end; at += kEach * kWarp) {
    uint32_t bits[kEach];
    COMMSCHED_UNROLL
    for (int i = 0; i < kEach; ++i)
      bits[i] = at + i * kWarp < end ? array[at + i * kWarp] : 0;
    COMMSCHED_UNROLL
    for (int i = 0; i < kEach; ++i)
      function(bits[i], at + i * kWarp, at + i * kWarp < end);
  }
}

// The parts of a span that are this warp's.
template <class Function>
__device__ inline void ForSpan(const Item &item, uint32_t span,
                               Function function) {
  const int64_t first =
      (int64_t(span) * kWarps + WarpNumber()) * item.span_units;
  const int64_t parts = int64_t(item.units) * kWarps;
  for (int64_t part = first; part < first + item.span_units && part < parts;
       ++part)
    function(part);
}

// Counts the range in bins.
template <class F>
__device__ inline void CountBins(const Item &item, const Range &range,
                                 uint32_t span, Shared &shared) {
  ForSpan(item, span, [&](int64_t part) {
    ForPart<F>(item, range.in_array != 0, part,
               [&](uint32_t bits, int64_t, bool there) {
                 const uint32_t magnitude = bits & F::kMagnitude;
                 AddToBins(
                     shared.bins, (magnitude - range.low) >> range.shift,
                     there && magnitude >= range.low && magnitude < range.high);
               });
  });
}

// Of elements that are few, the order in which they are selected.
__device__ inline unsigned long long Key(uint32_t magnitude, int64_t at) {
  return (unsigned long long)(~magnitude) << 32 | (unsigned long long)(at);
}
__device__ inline uint32_t KeyMagnitude(unsigned long long key) {
  return ~uint32_t(key >> 32);
}

// Two counts in one number: what is above the range, or the k-th magnitude, and
// what is equal to that one.
__device__ inline unsigned long long Counts(uint32_t above, uint32_t equal) {
  return (unsigned long long)(above) << 32 | equal;
}

// Counts what is above the range; what is in it is counted, too, or, if it is
// few, listed.
template <class F>
__device__ inline void CountSpan(const Item &item, State &state,
                                 const Range &range, uint32_t span,
                                 Shared &shared) {
  uint32_t above = 0, within = 0;
  ForSpan(item, span, [&](int64_t part) {
    ForPart<F>(item, range.in_array != 0, part,
               [&](uint32_t bits, int64_t at, bool there) {
                 const uint32_t magnitude = bits & F::kMagnitude;
                 above += there && magnitude >= range.high;
                 if (!there || magnitude < range.low || magnitude >= range.high)
                   return;
                 if (range.few == 0)
                   ++within;
                 else
                   state.list[atomicAdd(&state.listed, 1u)] = Key(magnitude, at);
               });
  });
  above = WarpSum(above);
  within = WarpSum(within);
  if (Lane() == 0) {
    item.warp_count[span * kWarps + WarpNumber()] = Counts(above, within);
    shared.sums[WarpNumber()] = above;
    shared.others[WarpNumber()] = within;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kWarps; ++w) {
    above += shared.sums[w];
    within += shared.others[w];
  }
  item.span_count[span] = Counts(above, within);
}

// Of the few elements in the range: the k-th magnitude, and how many are
// selected that are equal to it. By one block.
__device__ inline void ChooseOfFew(State &state) {
  static_assert(kFew <= kThreads);
  const uint32_t count = state.listed, rank = state.range.rank;
  __syncthreads();
  if (threadIdx.x >= count) return;
  const unsigned long long own = state.list[threadIdx.x];
  const uint32_t magnitude = KeyMagnitude(own);
  uint32_t before = 0, above = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const unsigned long long key = state.list[i];
    before += key < own;
    above += KeyMagnitude(key) > magnitude;
  }
  // The last that is selected.
  if (before + 1 != rank) return;
  state.range.low = magnitude;
  state.range.high = magnitude + 1;
  state.range.rank = rank - above;
  state.range.known = 1;
}

// Values and indices, and 0 in the sum where they were. Each block adds up the
// counts of all spans before its own.
template <class F, class Index>
__device__ inline void WriteSpan(const Item &item, const State &state,
                                 const Range &range, uint32_t span,
                                 Shared &shared) {
  using S = typename F::Storage;
  // Of 2^31 elements at most, so that the lower half does not overflow.
  unsigned long long before = 0;
  for (uint32_t i = threadIdx.x; i < span; i += kThreads)
    before += item.span_count[i];
  uint32_t above = WarpSum(uint32_t(before >> 32));
  uint32_t equal = WarpSum(uint32_t(before));
  if (Lane() == 0) {
    shared.sums[WarpNumber()] = above;
    shared.others[WarpNumber()] = equal;
  }
  __syncthreads();
  above = equal = 0;
  for (int w = 0; w < kWarps; ++w) {
    above += shared.sums[w];
    equal += shared.others[w];
  }
  // Of this span, the warps before; and of what was listed.
  const int64_t begin =
      (int64_t(span) * kWarps + WarpNumber()) * item.span_units *
      item.part_tiles * kTile;
  before = Lane() < WarpNumber() ? item.warp_count[span * kWarps + Lane()] : 0;
  for (uint32_t i = uint32_t(Lane()); i < state.listed; i += kWarp) {
    const unsigned long long key = state.list[i];
    if (int64_t(key & 0xffffffff) >= begin) continue;
    before += Counts(KeyMagnitude(key) > range.low, KeyMagnitude(key) == range.low);
  }
  above += WarpSum(uint32_t(before >> 32));
  equal += WarpSum(uint32_t(before));
  ForSpan(item, span, [&](int64_t part) {
    ForPart<F>(item, range.in_array != 0, part, [&](uint32_t bits, int64_t at, bool there) {
      const uint32_t magnitude = bits & F::kMagnitude;
      const bool is_above = there && magnitude > range.low;
      const bool is_equal = there && magnitude == range.low;
      const unsigned aboves = __ballot_sync(kAll, is_above);
      const unsigned equals = __ballot_sync(kAll, is_equal);
      const uint32_t e = equal + uint32_t(__popc(equals & Before()));
      if (is_above || (is_equal && e < range.rank)) {
        const uint32_t place = above + uint32_t(__popc(aboves & Before())) +
                               min(e, range.rank);
        static_cast<S *>(item.values)[place] = S(bits);
        static_cast<Index *>(item.indices)[place] = Index(at);
        if (item.residual != nullptr) static_cast<S *>(item.sum)[at] = 0;
      }
      above += uint32_t(__popc(aboves));
      equal += uint32_t(__popc(equals));
    });
  });
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_EXACT_SPANS_CUH
