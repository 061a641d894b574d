// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/lists.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/sparse/float_types.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse {
namespace {

// How far ahead scattered places are fetched, in entries.
constexpr int64_t kAhead = 16;

template <typename Index>
absl::Status CheckIndices(const Index *indices, int64_t count, int64_t size) {
  // Branch-free, so that it is a vector loop; -1 becomes 0, what is below the
  // largest unsigned number.
  bool good = true;
  for (int64_t i = 0; i < count; ++i)
    good &= uint64_t(int64_t(indices[i]) + 1) <= uint64_t(size);
  if (good) return absl::OkStatus();
  for (int64_t i = 0;; ++i)
    if (indices[i] < -1 || indices[i] >= size)
      return absl::OutOfRangeError(
          absl::StrCat("index ", indices[i], " in place ", i,
                       " of a list must be -1 or less than ", size));
}

template <typename F>
void AddRow(typename F::Storage *target, const typename F::Storage *row,
            int64_t width) {
  for (int64_t j = 0; j < width; ++j)
    target[j] = F::Store(F::Load(target[j]) + F::Load(row[j]));
}

template <typename F>
void AddScaledRow(typename F::Storage *target, const typename F::Storage *row,
                  int64_t width, float scale) {
  for (int64_t j = 0; j < width; ++j)
    target[j] = F::Store(F::Load(target[j]) +
                         F::Load(F::Store(F::Load(row[j]) * scale)));
}

// An entry of a list, and where it was.
struct Entry {
  int64_t index;
  int64_t place;
};

// Entries sorted by index, then by place: runs that ascend already are merged
// two by two. Uses and returns either of the arrays.
template <typename Index>
Entry *SortEntries(const Index *indices, int64_t count, Entry *entries,
                   Entry *other, int64_t *length) {
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i)
    if (indices[i] >= 0) entries[n++] = {indices[i], i};
  *length = n;
  const auto run_end = [n](const Entry *e, int64_t begin) {
    int64_t end = begin + 1;
    while (end < n && e[end - 1].index <= e[end].index) ++end;
    return end;
  };
  const auto less = [](const Entry &a, const Entry &b) {
    return a.index < b.index;
  };
  while (n > 0) {
    int64_t begin = 0, runs = 0;
    while (begin < n) {
      const int64_t middle = run_end(entries, begin);
      const int64_t end = middle < n ? run_end(entries, middle) : n;
      if (begin == 0 && middle == n) return entries;
      std::merge(entries + begin, entries + middle, entries + middle,
                 entries + end, other + begin, less);
      begin = end;
      ++runs;
    }
    std::swap(entries, other);
    if (runs == 1) break;
  }
  return entries;
}

size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
size_t EntryBytes(int64_t count) {
  return Aligned(size_t(count) * sizeof(Entry));
}

}  // namespace

absl::Status ScatterAdd(const ListType &type, const void *indices,
                        const void *values, int64_t count, double scale,
                        void *target, int64_t size) {
  return WithIndex(type.index, [&](auto index) {
    const auto *at = static_cast<const decltype(index) *>(indices);
    absl::Status s = CheckIndices(at, count, size);
    if (!s.ok()) return s;
    WithFloat(type.element, [&](auto f) {
      using F = decltype(f);
      const auto *rows = static_cast<const typename F::Storage *>(values);
      auto *table = static_cast<typename F::Storage *>(target);
      for (int64_t i = 0; i < count; ++i) {
        if (i + kAhead < count && at[i + kAhead] >= 0)
          __builtin_prefetch(table + int64_t(at[i + kAhead]) * type.width, 1);
        if (at[i] < 0) continue;
        auto *row = table + int64_t(at[i]) * type.width;
        if (scale == 1)
          AddRow<F>(row, rows + i * type.width, type.width);
        else
          AddScaledRow<F>(row, rows + i * type.width, type.width, float(scale));
      }
    });
    return s;
  });
}

absl::Status ScatterClear(const ListType &type, const void *indices,
                          int64_t count, void *target, int64_t size) {
  return WithIndex(type.index, [&](auto index) {
    const auto *at = static_cast<const decltype(index) *>(indices);
    absl::Status s = CheckIndices(at, count, size);
    if (!s.ok()) return s;
    const size_t row = size_t(type.width) * ElementBytes(type.element);
    for (int64_t i = 0; i < count; ++i)
      if (at[i] >= 0)
        std::memset(static_cast<std::byte *>(target) + size_t(at[i]) * row, 0,
                    row);
    return s;
  });
}

absl::Status ScatterAddOthers(const ListType &type, const void *indices,
                              const void *values, int64_t count,
                              const void *others, int64_t other_count,
                              void *target, int64_t size) {
  return WithIndex(type.index, [&](auto index) {
    using Index = decltype(index);
    const auto *at = static_cast<const Index *>(indices);
    const auto *other = static_cast<const Index *>(others);
    const auto check = [size](const Index *list, int64_t n) {
      absl::Status s = CheckIndices(list, n, size);
      Index last = 0;
      for (int64_t i = 0; i < n && s.ok(); ++i) {
        if (list[i] < 0) continue;
        if (list[i] < last)
          s = absl::InvalidArgumentError(
              absl::StrCat("a list must ascend, got: ", last, ", ", list[i],
                           " in place ", i));
        last = list[i];
      }
      return s;
    };
    absl::Status s = check(at, count);
    if (s.ok()) s = check(other, other_count);
    if (!s.ok()) return s;
    WithFloat(type.element, [&](auto f) {
      using F = decltype(f);
      const auto *rows = static_cast<const typename F::Storage *>(values);
      auto *table = static_cast<typename F::Storage *>(target);
      int64_t j = 0;
      for (int64_t i = 0; i < count; ++i) {
        if (at[i] < 0) continue;
        while (j < other_count && other[j] < at[i]) ++j;
        if (j < other_count && other[j] == at[i]) continue;
        AddRow<F>(table + int64_t(at[i]) * type.width, rows + i * type.width,
                  type.width);
      }
    });
    return s;
  });
}

size_t MergeScratchBytes(const ListType &type, int64_t count) {
  // Entries twice; for MergeTopK the merged list, places and what TopK needs.
  return 2 * EntryBytes(count) + 3 * Aligned(size_t(count) * sizeof(int64_t)) +
         TopKScratchBytes({.element = type.element,
                           .index = Element::kI64,
                           .size = count,
                           .k = count});
}

absl::Status MergeLists(const ListType &type, const void *indices,
                        const void *values, int64_t count, double scale,
                        void *merged_indices, void *merged_values,
                        int64_t *merged, void *scratch) {
  return WithIndex(type.index, [&](auto index) {
    using Index = decltype(index);
    const auto *at = static_cast<const Index *>(indices);
    absl::Status s = CheckIndices(at, count, INT64_MAX);
    if (!s.ok()) return s;
    auto *entries = static_cast<Entry *>(scratch);
    int64_t length = 0, n = 0;
    entries =
        SortEntries(at, count, entries,
                    reinterpret_cast<Entry *>(
                        static_cast<std::byte *>(scratch) + EntryBytes(count)),
                    &length);
    auto *out = static_cast<Index *>(merged_indices);
    const int64_t width = type.width;
    const size_t row_bytes = size_t(width) * ElementBytes(type.element);
    WithFloat(type.element, [&](auto f) {
      using F = decltype(f);
      const auto *rows = static_cast<const typename F::Storage *>(values);
      auto *sums = static_cast<typename F::Storage *>(merged_values);
      for (int64_t i = 0; i < length; ++i) {
        if (i + kAhead < length)
          __builtin_prefetch(rows + entries[i + kAhead].place * width);
        const auto *row = rows + entries[i].place * width;
        if (i != 0 && entries[i].index == entries[i - 1].index) {
          AddRow<F>(sums + (n - 1) * width, row, width);
        } else {
          out[n] = Index(entries[i].index);
          std::memcpy(sums + n++ * width, row, row_bytes);
        }
      }
      std::fill(out + n, out + count, Index(-1));
      std::memset(sums + n * width, 0, size_t(count - n) * row_bytes);
    });
    if (scale != 1)
      ScaleElements(type.element, scale,
                    static_cast<std::byte *>(merged_values), size_t(n * width));
    *merged = n;
    return s;
  });
}

absl::Status MergeTopK(const ListType &type, const void *indices,
                       const void *values, int64_t count, int64_t k,
                       void *top_indices, void *top_values, void *scratch) {
  auto *at = static_cast<std::byte *>(scratch) + 2 * EntryBytes(count);
  const auto take = [&at](int64_t n, size_t bytes) {
    return std::exchange(at, at + Aligned(size_t(n) * bytes));
  };
  void *merged_indices = take(count, sizeof(int64_t));
  void *merged_values = take(count, sizeof(int64_t));
  auto *places = reinterpret_cast<int64_t *>(take(count, sizeof(int64_t)));
  int64_t merged = 0;
  absl::Status s = MergeLists(type, indices, values, count, 1, merged_indices,
                              merged_values, &merged, scratch);
  if (!s.ok()) return s;
  TopKBuffers buffers;
  buffers.input = merged_values;
  buffers.values = top_values;
  buffers.indices = places;
  buffers.scratch = at;
  const TopKProblem problem = {.element = type.element,
                               .index = Element::kI64,
                               .size = merged,
                               .k = std::min(k, merged)};
  s = TopK(problem, buffers);
  if (!s.ok()) return s;
  WithIndex(type.index, [&](auto index) {
    using Index = decltype(index);
    auto *out = static_cast<Index *>(top_indices);
    for (int64_t i = 0; i < problem.k; ++i)
      out[i] = static_cast<const Index *>(merged_indices)[places[i]];
    std::fill(out + problem.k, out + k, Index(-1));
  });
  const size_t bytes = ElementBytes(type.element);
  std::memset(static_cast<std::byte *>(top_values) + size_t(problem.k) * bytes,
              0, size_t(k - problem.k) * bytes);
  return s;
}

}  // namespace commsched::ops::sparse
