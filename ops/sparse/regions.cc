// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/regions.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/sparse/float_types.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse {
namespace {

size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
size_t Bytes64(int64_t count) {
  return Aligned(size_t(count) * sizeof(int64_t));
}

int64_t EqualCut(const RegionsType &type, int64_t region) {
  return int64_t(static_cast<__int128>(region) * type.size / type.regions);
}

// regions + 1 of them.
template <typename Index>
void FindCuts(const RegionsType &type, const Index *shifts, int64_t *cuts) {
  cuts[0] = 0;
  for (int64_t r = 1; r < type.regions; ++r) {
    // Shifts may be anything: a checkpoint may have been changed.
    const __int128 cut =
        static_cast<__int128>(EqualCut(type, r)) + shifts[r - 1];
    cuts[r] = cut < cuts[r - 1] ? cuts[r - 1]
              : cut > type.size ? type.size
                                : int64_t(cut);
  }
  cuts[type.regions] = type.size;
}

template <typename Index>
absl::Status OutOfRange(const RegionsType &type, Index index, int64_t place) {
  return absl::OutOfRangeError(
      absl::StrCat("index ", index, " in place ", place,
                   " of a list must be -1 or less than ", type.size));
}

// How many are in front of the padding.
template <typename Index>
absl::Status CountAscending(const RegionsType &type, const Index *indices,
                            int64_t count, int64_t *length) {
  int64_t n = 0;
  while (n < count && indices[n] != -1) {
    if (indices[n] < 0 || indices[n] >= type.size)
      return OutOfRange(type, indices[n], n);
    if (n > 0 && indices[n] < indices[n - 1])
      return absl::InvalidArgumentError(
          absl::StrCat("a list must ascend, got: ", indices[n - 1], ", ",
                       indices[n], " in place ", n));
    ++n;
  }
  *length = n;
  for (; n < count; ++n)
    if (indices[n] != -1)
      return absl::InvalidArgumentError(
          absl::StrCat("a list must have padding at the end, got: ", indices[n],
                       " in place ", n));
  return absl::OkStatus();
}

}  // namespace

size_t RegionsScratchBytes(const RegionsType &type, int64_t count) {
  return Bytes64(type.regions + 1) + Bytes64(count) +
         TopKScratchBytes({.element = type.element,
                           .index = Element::kI64,
                           .size = count,
                           .k = count});
}

absl::Status SplitRegions(const RegionsType &type, const void *shifts,
                          const void *indices, const void *values,
                          int64_t count, int64_t capacity, void *split_indices,
                          void *split_values, void *counts, void *scratch) {
  auto *memory = static_cast<std::byte *>(scratch);
  auto *cuts = reinterpret_cast<int64_t *>(memory);
  auto *places =
      reinterpret_cast<int64_t *>(memory + Bytes64(type.regions + 1));
  const size_t bytes = ElementBytes(type.element);
  return WithIndex(type.index, [&](auto index) {
    using Index = decltype(index);
    const auto *from = static_cast<const Index *>(indices);
    auto *to = static_cast<Index *>(split_indices);
    FindCuts(type, static_cast<const Index *>(shifts), cuts);
    int64_t length = 0;
    absl::Status s = CountAscending(type, from, count, &length);
    int64_t begin = 0;
    for (int64_t r = 0; r < type.regions && s.ok(); ++r) {
      const int64_t end =
          std::lower_bound(from + begin, from + length, cuts[r + 1],
                           [](Index a, int64_t b) { return a < b; }) -
          from;
      static_cast<Index *>(counts)[r] = Index(end - begin);
      const int64_t taken = std::min(end - begin, capacity);
      const auto *own =
          static_cast<const std::byte *>(values) + size_t(begin) * bytes;
      auto *sent = static_cast<std::byte *>(split_values) +
                   size_t(r * capacity) * bytes;
      if (taken < end - begin) {
        TopKBuffers buffers;
        buffers.input = own;
        buffers.values = sent;
        buffers.indices = places;
        buffers.scratch = memory + Bytes64(type.regions + 1) + Bytes64(count);
        s = TopK({.element = type.element,
                  .index = Element::kI64,
                  .size = end - begin,
                  .k = taken},
                 buffers);
        if (!s.ok()) break;
        for (int64_t i = 0; i < taken; ++i)
          to[r * capacity + i] = from[begin + places[i]];
      } else {
        std::copy(from + begin, from + end, to + r * capacity);
        std::memcpy(sent, own, size_t(taken) * bytes);
      }
      std::fill(to + r * capacity + taken, to + (r + 1) * capacity, Index(-1));
      std::memset(sent + size_t(taken) * bytes, 0,
                  size_t(capacity - taken) * bytes);
      begin = end;
    }
    return s;
  });
}

absl::Status BalanceRegions(const RegionsType &type, const void *shifts,
                            const void *indices, const void *counts,
                            int64_t capacity, void *new_shifts, void *scratch) {
  auto *cuts = static_cast<int64_t *>(scratch);
  const int64_t regions = type.regions;
  return WithIndex(type.index, [&](auto index) {
    using Index = decltype(index);
    const auto *lists = static_cast<const Index *>(indices);
    const auto *weights = static_cast<const Index *>(counts);
    FindCuts(type, static_cast<const Index *>(shifts), cuts);
    __int128 total = 0;
    for (int64_t r = 0; r < regions; ++r) {
      if (weights[r] < 0)
        return absl::OutOfRangeError(absl::StrCat(
            "count of region ", r, " must not be negative, got: ", weights[r]));
      total += weights[r];
    }
    for (int64_t i = 0; i < regions * capacity; ++i)
      if (lists[i] < -1 || lists[i] >= type.size)
        return OutOfRange(type, lists[i], i);
    auto *out = static_cast<Index *>(new_shifts);
    if (total == 0) {
      std::memmove(new_shifts, shifts, size_t(regions - 1) * sizeof(Index));
      return absl::OkStatus();
    }
    int64_t r = 0;
    __int128 before = 0;  // entries in front of region r
    for (int64_t cut = 1; cut < regions; ++cut) {
      // cut / regions of all entries, counted `regions` times.
      while ((before + weights[r]) * regions <= cut * total)
        before += weights[r++];
      const __int128 inside = cut * total - before * regions;
      const __int128 all = static_cast<__int128>(weights[r]) * regions;
      const Index *list = lists + r * capacity;
      const int64_t length =
          std::find(list, list + capacity, Index(-1)) - list;
      const int64_t at =
          length > 0
              ? list[int64_t(inside * length / all)]
              : cuts[r] + int64_t(inside * (cuts[r + 1] - cuts[r]) / all);
      out[cut - 1] = Index(at - EqualCut(type, cut));
    }
    return absl::OkStatus();
  });
}

}  // namespace commsched::ops::sparse
