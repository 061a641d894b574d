// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host and device of the CUDA kernels for lists share.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_LISTS_LAYOUT_H
#define COMMSCHED_OPS_SPARSE_CUDA_LISTS_LAYOUT_H

#include <cstddef>
#include <cstdint>

namespace commsched::ops::sparse::cuda {

// Entries of a list that are the work of a block.
inline constexpr int kListThreads = 256;
inline constexpr int kListRounds = 4;
inline constexpr int kListGroup = kListThreads * kListRounds;
// Rows of this width on are added by a warp together.
inline constexpr int kWideRow = 16;
// Blocks that pick entries of one list.
inline constexpr int kPickBlocks = 32;

// A list, in device memory.
struct ListItem {
  const void *indices;
  const void *values;
  int64_t count;
  int64_t run;   // entries that are known to ascend, one after the other
  int64_t size;  // indices are below
  int64_t width;
  float scale;
  void *target;  // of a scatter-add; else null, and the merged list
  void *merged_indices;
  void *merged_values;
  int64_t *merged;
  // Entries sorted by index, padding last, and their places; in turn.
  uint64_t *keys[2];
  uint32_t *places[2];
  uint32_t merges;  // rounds of merging, until one run is left
  uint32_t groups;
  uint32_t first_group;
  uint32_t *group_heads;  // entries of new index, of all groups before
};

// 0 at the beginning of a run.
struct ListState {
  // ~place of the first entry whose index lies outside, and of the first that
  // is less than the one before in its run. The first in the structure: they
  // are what refuses a selection (Item::refused).
  unsigned long long outside_inverted, unordered_inverted;
  uint32_t merged;
  uint32_t ticket;
};

// The k entries of a merged list that a selection says.
struct PickItem {
  const ListState *list;
  const unsigned long long *non_finite;  // of the selection
  const int32_t *places;                 // [selected]
  const void *merged_indices;
  void *indices;  // [k], padding behind `selected`
  void *values;   // [k], those selected are there
  int64_t selected, k;
};

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_LISTS_LAYOUT_H
