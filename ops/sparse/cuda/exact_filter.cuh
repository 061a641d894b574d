// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one read of the array of exact selection, with CUDA: what is in a range or
// above it is kept as candidates, and the range is counted in bins.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_EXACT_FILTER_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_EXACT_FILTER_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/exact_phases.cuh"
#include "ops/sparse/cuda/top_k_layout.h"

namespace commsched::ops::sparse::cuda {

// What a warp has found in a part: `count` candidates, the same in all lanes,
// and of each lane how many of them are above the range.
struct Found {
  uint32_t count = 0, above = 0;
};

// Places for the candidates of a part.
struct Slots {
  uint32_t *bits;
  uint16_t *at;
  uint32_t count;
};

// The elements of a warp's tile, or half of it, kRows rows of its 16-byte
// vectors: from x, and with feedback from the residual.
template <class F, bool kFeedback>
struct Chunk {
  static constexpr int kCount = Vector<F>::kCount, kRow = kWarp * kCount;
  static constexpr int kRows = kTile / kRow / (kFeedback ? 2 : 1);
  static constexpr int kSize = kRow * kRows;
  Vector<F> v[kRows], r[kFeedback ? kRows : 1];
  bool whole;
  int count;  // of elements there are from the first of this lane on

  __device__ void Load(const Item &item, int64_t begin, bool aligned) {
    using S = typename F::Storage;
    const int64_t first = begin + Lane() * kCount;
    whole = aligned && item.size - begin >= kSize;
    count = int(min(item.size - first, int64_t{kSize}));
    LoadVectors<F, kRows>(v, static_cast<const S *>(item.x) + first, whole, count);
    if constexpr (kFeedback)
      LoadVectors<F, kRows>(r, static_cast<const S *>(item.residual) + first, whole, count);
  }

  // The sum, in place of v. All has been read before something is written: it
  // may be the same memory.
  __device__ void Add(const Item &item, int64_t begin) {
    using S = typename F::Storage;
    auto *sum = static_cast<S *>(item.sum) + begin + Lane() * kCount;
    COMMSCHED_UNROLL
    for (int i = 0; i < kRows; ++i) {
      COMMSCHED_UNROLL
      for (int j = 0; j < kCount; ++j)
        v[i].Set(j, F::Store(F::Load(S(r[i].Get(j))) + F::Load(S(v[i].Get(j)))));
      StoreVector<F>(v[i], sum + i * kRow, whole, count - i * kRow);
    }
  }

  // Bit i * kCount + j: whether element j of row i is a candidate.
  __device__ uint32_t Candidates(uint32_t low) const {
    uint32_t mask = 0;
    COMMSCHED_UNROLL
    for (int i = 0; i < kRows; ++i) {
      COMMSCHED_UNROLL
      for (int j = 0; j < kCount; ++j)
        mask |= uint32_t((v[i].Get(j) & F::kMagnitude) >= low) << (i * kCount + j);
    }
    if (whole) return mask;
    COMMSCHED_UNROLL
    for (int i = 0; i < kRows; ++i) {
      COMMSCHED_UNROLL
      for (int j = 0; j < kCount; ++j)
        if (i * kRow + j >= count) mask &= ~(1u << (i * kCount + j));
    }
    return mask;
  }
};

// Of a field for each row, two numbers of as many bits as a row may count.
template <class F>
struct RowCounts {
  static constexpr int kCount = Vector<F>::kCount;
  static constexpr int kWidth = 2 * kCount;
  uint32_t even, odd;
  __device__ explicit RowCounts(uint32_t mask) {
    uint32_t n = mask - ((mask >> 1) & 0x55555555);
    n = (n & 0x33333333) + ((n >> 2) & 0x33333333);
    if constexpr (kCount == 4) {
      even = n & 0x0f0f0f0f;
      odd = (n >> 4) & 0x0f0f0f0f;
    } else {
      n = (n & 0x0f0f0f0f) + ((n >> 4) & 0x0f0f0f0f);
      even = n & 0x00ff00ff;
      odd = (n >> 8) & 0x00ff00ff;
    }
  }
  __device__ uint32_t Of(int row) const {
    return ((row % 2 == 0 ? even : odd) >> (row / 2 * kWidth)) & ((1u << kWidth) - 1);
  }
};

// Keeps the candidates of a chunk, whose elements are source[0 ..], in order;
// it is the `offset`-th of its part, and from `begin` on in the array. What is
// kept is read again: few are, and they have just been here.
template <class F>
__device__ inline void Keep(const typename F::Storage *source, uint32_t mask,
                            State &state, const Range &range, const Slots &slots,
                            int64_t begin, uint32_t offset, Found &found,
                            Shared &shared) {
  constexpr int kCount = Vector<F>::kCount, kRow = kWarp * kCount;
  constexpr int kRows = kTile / kRow;
  if (__ballot_sync(kAll, mask != 0) == 0) return;
  // By row, then by lane, then by element.
  const RowCounts<F> own(mask);
  RowCounts<F> before = own, all = own;
  before.even = WarpPrefix(own.even);
  before.odd = WarpPrefix(own.odd);
  all.even = __shfl_sync(kAll, before.even + own.even, kWarp - 1);
  all.odd = __shfl_sync(kAll, before.odd + own.odd, kWarp - 1);
  const uint32_t in_row = Lane() < kRows ? all.Of(Lane()) : 0;
  const uint32_t row_begin = WarpPrefix(in_row);
  const uint32_t total = __shfl_sync(kAll, row_begin + in_row, kWarp - 1);
  // Few are told apart one by one; of many, many may be in one bin.
  const bool many = total >= kTile / 8;
  for (uint32_t left = mask; __ballot_sync(kAll, left != 0) != 0; left &= left - 1) {
    const bool is = left != 0;
    const int bit = is ? __ffs(int(left)) - 1 : 0;
    const int row = bit / kCount;
    const uint32_t slot = found.count + __shfl_sync(kAll, row_begin, row) + before.Of(row) +
                          uint32_t(__popc((mask & ((1u << bit) - 1)) >> (row * kCount)));
    const int at = row * kRow + Lane() * kCount + bit % kCount;
    const uint32_t bits = is ? source[at] : 0;
    const uint32_t magnitude = bits & F::kMagnitude;
    const bool within = is && magnitude < range.high;
    const uint32_t bin = (magnitude - range.low) >> range.shift;
    if (many)
      AddToBins(shared.bins, bin, within);
    else if (within)
      atomicAdd(&shared.bins[bin], 1u);
    if (is && slot < slots.count) {
      slots.bits[slot] = bits;
      slots.at[slot] = uint16_t(offset + uint32_t(at));
    }
    if (is && !within) {
      ++found.above;
      if (magnitude >= uint32_t(F::kInfinity)) {
        atomicAdd(&state.non_finite, 1ull);
        atomicMax(&state.first_inverted, ~(unsigned long long)(begin + at));
      }
    }
  }
  found.count += total;
}

// A part: the sum, the candidates, and what is not finite.
template <class F, bool kFeedback>
__device__ inline Found FilterPart(const Item &item, State &state, const Range &range,
                                   int64_t part, Shared &shared) {
  using S = typename F::Storage;
  using C = Chunk<F, kFeedback>;
  const Slots slots = {item.bits + part * item.slots, item.at + part * item.slots, item.slots};
  const auto *source = static_cast<const S *>(kFeedback ? item.sum : item.x);
  const bool aligned = IsAligned(item.x) && IsAligned(item.residual) && IsAligned(item.sum);
  const int64_t size = int64_t(item.part_tiles) * kTile, first = part * size;
  const auto end = uint32_t(max(min(size, item.size - first), int64_t{0}));
  Found found;
  C chunk;
  if (end != 0) chunk.Load(item, first, aligned);
  for (uint32_t offset = 0; offset < end; offset += C::kSize) {
    const int64_t begin = first + offset;
    if constexpr (kFeedback) chunk.Add(item, begin);
    const uint32_t mask = chunk.Candidates(range.low);
    // On its way while these are kept.
    if (offset + C::kSize < end) chunk.Load(item, begin + C::kSize, aligned);
    Keep<F>(source + begin, mask, state, range, slots, begin, offset, found, shared);
  }
  return found;
}

// The parts of a unit.
template <class F>
__device__ inline void FilterUnit(const Item &item, State &state,
                                  uint32_t unit, Shared &shared) {
  const Range range = state.range;
  const int64_t part = int64_t(unit) * kWarps + WarpNumber();
  const Found found = item.residual != nullptr
                          ? FilterPart<F, true>(item, state, range, part, shared)
                          : FilterPart<F, false>(item, state, range, part, shared);
  const uint32_t above = WarpSum(found.above);
  if (Lane() != 0) return;
  item.part_count[part] =
      found.count <= item.slots ? found.count : kManyCandidates;
  if (found.count != 0) atomicAdd(&shared.candidates, found.count);
  if (above != 0) atomicAdd(&shared.above, above);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_EXACT_FILTER_CUH
