// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions of the indices of an array, one for each rank, and lists of selected
// elements cut by them: the split and the balance of Ok-Topk (S. Li, T.
// Hoefler, "Near-optimal sparse allreduce for distributed deep learning", PPoPP
// 2022).
//
// Region r of n is [cut r, cut r + 1). The n - 1 inner cuts lie at
// floor(r size / n) + shifts[r - 1]: equal regions if all shifts are zero. A
// cut that would lie before the one in front of it, or outside, is moved there.
// Pure functions of their arguments.
#ifndef COMMSCHED_OPS_SPARSE_REGIONS_H
#define COMMSCHED_OPS_SPARSE_REGIONS_H

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ops/base/element.h"

namespace commsched::ops::sparse {

struct RegionsType {
  Element element = Element::kF32;  // floating point
  Element index = Element::kI32;    // kI32 or kI64: of lists, shifts and counts
  int64_t size = 0;                 // elements of the array
  int64_t regions = 1;
};

// Bytes of scratch of SplitRegions, of a list of `count`, and of
// BalanceRegions.
size_t RegionsScratchBytes(const RegionsType &type, int64_t count);

// Of each region `capacity` entries of the list, whose indices ascend, with
// padding (-1) at the end: those of largest magnitude, in the order of
// ops/sparse/top_k.h, ascending; padding (index -1, value 0) behind them if
// there are fewer. split_* are [regions, capacity]. counts[r]: how many the
// list has there. kInvalidArgument for indices that do not ascend, kOutOfRange
// for one that is neither -1 nor in 0 .. size - 1.
absl::Status SplitRegions(const RegionsType &type, const void *shifts,
                          const void *indices, const void *values,
                          int64_t count, int64_t capacity, void *split_indices,
                          void *split_values, void *counts, void *scratch);

// Shifts of regions with equal numbers of entries: `counts[r]` are thought to
// lie in region r as the `capacity` indices that it has in `indices` [regions,
// capacity] do, ascending with padding at the end of each region; evenly if it
// has none. Without any entries, the shifts stay. new_shifts may be the memory
// of shifts. kOutOfRange as above, and for a count below zero.
absl::Status BalanceRegions(const RegionsType &type, const void *shifts,
                            const void *indices, const void *counts,
                            int64_t capacity, void *new_shifts, void *scratch);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_REGIONS_H
