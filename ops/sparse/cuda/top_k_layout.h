// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host and device of the CUDA selection share: tables and their sizes.
//
// An array is cut into tiles of 1024 elements, which a warp holds in registers,
// and these into groups of 32, which are the work of a block. All kernels run
// over the groups of all arrays at once.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_TOP_K_LAYOUT_H
#define COMMSCHED_OPS_SPARSE_CUDA_TOP_K_LAYOUT_H

#include <cstddef>
#include <cstdint>

namespace commsched::ops::sparse::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kPerLane = 32;
inline constexpr int kTile = kWarp * kPerLane;
inline constexpr int kGroupTiles = 32;
inline constexpr int64_t kGroup = int64_t{kTile} * kGroupTiles;
inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / kWarp;
inline constexpr int kTilesOfWarp = kGroupTiles / kWarps;

// A sample is of lines of 8 neighbours; its threads are one block.
inline constexpr int kSampleThreads = 1024;
inline constexpr int kLine = 8;
inline constexpr int kSampleLines = 1024;
inline constexpr int kSample = kLine * kSampleLines;

// Of a tile whose candidates do not fit into its slots.
inline constexpr uint32_t kManyCandidates = 0xffffffff;

inline constexpr int kPasses = 3;
inline constexpr int kBins = 2048;

// One array, in device memory.
struct Item {
  const void *x;         // with feedback, the gradient
  const void *residual;  // null without feedback
  void *sum;
  void *values;
  void *indices;
  int64_t size;
  int64_t k;
  // Of the sample, the rank of the threshold; 0: everything is a candidate.
  uint32_t sample_rank;
  uint32_t slots;  // for candidates of a tile
  uint32_t groups;
  uint32_t first_group;
  uint32_t *bits;  // candidates, [tiles, slots]: their bits
  uint16_t *at;    // and their places in the tile
  // By tile: how many candidates there are, or kManyCandidates; how many
  // elements are above the cut, and in it.
  uint32_t *tile_count, *tile_above, *tile_within;
  // By group: the same, then of all groups before.
  uint32_t *group_above, *group_within;
  unsigned long long *group_sum;  // bits of a double, for MSTopK
  // Null, or two numbers: if one is not 0, nothing is read nor written.
  const unsigned long long *refused;
};

// What is selected: magnitudes from `high` on, and of those from `low` to
// below `high` the run of `missing` that begins at the begin-th.
struct Cut {
  uint32_t high, low, begin, missing;
};

// Of MSTopK; the names are those of ops/sparse/ms_top_k.cc.
struct Bisection {
  double mean, largest;  // of magnitudes
  double left, right;
  uint32_t magnitude;  // is being tried
  uint32_t count;      // of elements that are not below it
  uint32_t high, low, above_high, above_low;
  uint32_t largest_bits;
  uint32_t done;
};

// What is known of an array; 0 at the beginning of a run.
struct State {
  unsigned long long non_finite;
  unsigned long long first_inverted;  // ~index of the first that is not finite
  int32_t above;                      // candidates are larger
  uint32_t candidates;                // also those that did not fit
  uint32_t kth;                       // the bits known of the k-th magnitude
  uint32_t left;                      // of k, among those with these bits
  uint32_t ticket;
  Cut cut;
  Bisection bisection;
  uint32_t bins[kPasses][kBins];
};

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_LAYOUT_H
