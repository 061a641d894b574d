// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host and device of the CUDA selection share: tables and their sizes.
//
// MSTopK cuts an array into tiles of 1024 elements, and these into groups of 32,
// which are the work of a block. Exact selection cuts it into parts of 1 to 8
// tiles, which are the work of a warp; eight of them are a unit, the work of a
// block. Of the units the candidates are gone through in spans, of one unit or
// several. Everything runs over all arrays at once.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_TOP_K_LAYOUT_H
#define COMMSCHED_OPS_SPARSE_CUDA_TOP_K_LAYOUT_H

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define COMMSCHED_ON_BOTH __host__ __device__
#else
#define COMMSCHED_ON_BOTH
#endif

namespace commsched::ops::sparse::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kPerLane = 32;
inline constexpr int kTile = kWarp * kPerLane;
inline constexpr int kGroupTiles = 32;
inline constexpr int64_t kGroup = int64_t{kTile} * kGroupTiles;
inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / kWarp;
inline constexpr int kTilesOfWarp = kGroupTiles / kWarps;

// Blocks of exact selection that a processor is to run at once: enough loads in
// flight, without spilling registers.
#ifndef COMMSCHED_EXACT_BLOCKS
#define COMMSCHED_EXACT_BLOCKS 2
#endif
inline constexpr int kExactBlocks = COMMSCHED_EXACT_BLOCKS;
inline constexpr int kMaxPartTiles = 8;
inline constexpr int kMaxSpans = 1024;

// A sample is of lines of 8 neighbours, four lines a thread.
inline constexpr int kLine = 8;
inline constexpr int kSampleLines = 1024;
inline constexpr int kSample = kLine * kSampleLines;
// Where line `line` begins in an array of kSampleLines * stretch elements or
// more: anywhere in its stretch, at a multiple of kLine.
COMMSCHED_ON_BOTH inline int64_t SampleAt(uint32_t line, int64_t stretch) {
  uint64_t z = (line + 1) * uint64_t{0x9e3779b97f4a7c15};
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z ^= z >> 27;
  const uint64_t room = uint64_t(stretch - kLine + 1);
  const uint64_t at = uint64_t(line) * uint64_t(stretch) + (((z >> 32) * room) >> 32);
  return int64_t(at / kLine * kLine);
}

// Of a part whose candidates do not fit into its slots.
inline constexpr uint32_t kManyCandidates = 0xffffffff;

inline constexpr int kBins = 2048;
// How often the range of the k-th magnitude is narrowed, by kBins each time:
// when the array is filtered, and then as often as it needs.
inline constexpr int kRangeLevels = 4;
// The sample, the levels, what counts and what writes.
inline constexpr int kPhases = kRangeLevels + 3;
inline constexpr int kCountPhase = kPhases - 2, kWritePhase = kPhases - 1;
// So many are chosen from one by one.
inline constexpr int kFew = 256;
inline constexpr int kCountLevel = kRangeLevels;  // in State::done

// One array, in device memory.
struct Item {
  const void *x;         // with feedback, the gradient
  const void *residual;  // null without feedback
  void *sum;
  void *values;
  void *indices;
  int64_t size;
  int64_t k;
  // Null, or two numbers: if one is not 0, nothing is read nor written.
  const unsigned long long *refused;

  // Of exact selection. Of the sample, the ranks of the range that is looked
  // at closely; 0: no sample, everything is a candidate.
  uint32_t low_rank, high_rank;
  uint32_t slots;       // for candidates of a part
  uint32_t part_tiles;  // in a part
  uint32_t units, first_unit;
  uint32_t span_units;  // in a span
  uint32_t spans, first_span;
  uint32_t *bits;        // candidates, [parts, slots]: their bits
  uint16_t *at;          // and their places in the part
  uint32_t *part_count;  // of candidates, or kManyCandidates
  // By span, and by warp of it: how many are above the range, and in it.
  unsigned long long *span_count, *warp_count;

  // Of MSTopK.
  uint32_t groups;
  uint32_t first_group;
  // By tile: how many elements are above the cut, and in it.
  uint32_t *tile_above, *tile_within;
  // By group: the same, then of all groups before.
  uint32_t *group_above, *group_within;
  unsigned long long *group_sum;  // bits of a double
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

// The k-th magnitude is the rank-th from the top of those from `low` to below
// `high`, which are counted in bins of 2^shift magnitudes.
struct Range {
  uint32_t low, high, rank, shift;
  uint32_t in_array;  // the candidates do not have it
  uint32_t known;     // there is one magnitude left, or nothing to look for
  uint32_t few;       // at most kFew elements are in it
};

// What is known of an array.
struct State {
  unsigned long long non_finite;
  unsigned long long first_inverted;  // ~index of the first that is not finite
  uint32_t ticket;                    // of MSTopK
  Cut cut;
  Bisection bisection;
  // Of exact selection.
  uint32_t candidates;  // also those that did not fit
  uint32_t above;       // of them, those that are above the range
  Range range;
  uint32_t listed;  // of the few in the range
  unsigned long long list[kFew];
  uint32_t done[kRangeLevels + 1];  // units; spans that have been counted
  uint32_t bins[kRangeLevels][kBins];
};

// How far the blocks are with all arrays; all 0 before and after a run.
struct Progress {
  uint32_t ticket[kPhases];  // the next unit or span
  uint32_t done[kPhases];    // arrays
  uint32_t wanted[kPhases];  // arrays whose range is still to be narrowed
  uint32_t gone;             // blocks
};

// All arrays of a run of exact selection.
struct Batch {
  const Item *items;
  State *states;
  Progress *progress;
  const uint32_t *unit_item, *span_item;
  uint32_t item_count, unit_count, span_count;
  uint32_t filled_count;  // arrays that are not empty
  uint32_t blocks;
};

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_LAYOUT_H
