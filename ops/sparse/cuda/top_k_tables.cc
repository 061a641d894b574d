// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/top_k_tables.h"

#include <algorithm>
#include <cmath>

namespace commsched::ops::sparse::cuda {
namespace {

// Of smaller arrays there is no sample: everything is a candidate.
constexpr int64_t kMinSize = 1 << 16;

// Ranks in the sample, of which the k-th magnitude is in between by four
// standard deviations, as if neighbours were alike by half.
void SetRanks(Item *item) {
  if (item->size < kMinSize) return;
  const double expected = double(kSample) * double(item->k) / double(item->size);
  const double around = 6 * std::sqrt(expected) + 6;
  const double low = std::ceil(expected + around);
  if (low >= kSample) return;
  item->low_rank = uint32_t(low);
  item->high_rank = uint32_t(std::max(1.0, std::floor(expected - around)));
}

// What a part's candidates need with great likelihood, in whole warps. None if
// there is no sample: the part itself is as good.
uint32_t SlotCount(const Item &item) {
  if (item.low_rank == 0) return 0;
  const double part = double(item.part_tiles) * kTile;
  const double expected = item.low_rank * part / kSample;
  const double slots = expected + 8 * std::sqrt(expected) + 8;
  return uint32_t(std::min(part, std::ceil(slots / kWarp) * kWarp));
}

uint32_t Quotient(int64_t a, int64_t b) { return uint32_t((a + b - 1) / b); }

// Large parts where there are enough of them: what a block does for a unit it
// does more seldom.
void SetParts(Item *item) {
  item->part_tiles = 1;
  const auto unit = [item] { return int64_t{kTile} * kWarps * item->part_tiles; };
  while (item->part_tiles < kMaxPartTiles && item->size / unit() >= 2 * kMaxSpans)
    item->part_tiles *= 2;
  item->units = Quotient(item->size, unit());
  item->span_units = std::max(1u, Quotient(item->units, kMaxSpans));
  item->spans = Quotient(item->units, item->span_units);
}

}  // namespace

Tables LayOut(const std::vector<Array> &arrays, TopKMethod method,
              std::byte *scratch) {
  Tables tables;
  const auto take = [&tables](size_t bytes) {
    const size_t at = tables.bytes;
    tables.bytes += (bytes + 63) / 64 * 64;
    return at;
  };
  const bool exact = method != TopKMethod::kMsTopK;
  std::vector<Item> &items = tables.items;
  for (const Array &array : arrays) {
    Item item{};
    item.x = array.x;
    item.residual = array.residual;
    item.sum = array.sum;
    item.values = array.values;
    item.indices = array.indices;
    item.size = array.size;
    item.k = array.k;
    item.refused = array.refused;
    const auto number = uint32_t(items.size());
    if (exact) {
      if (method != TopKMethod::kHistogram) SetRanks(&item);
      SetParts(&item);
      item.slots = SlotCount(item);
      item.first_unit = uint32_t(tables.unit_item.size());
      item.first_span = uint32_t(tables.span_item.size());
      tables.unit_item.insert(tables.unit_item.end(), item.units, number);
      tables.span_item.insert(tables.span_item.end(), item.spans, number);
    } else {
      item.groups = Quotient(array.size, kGroup);
      item.first_group = uint32_t(tables.unit_item.size());
      tables.unit_item.insert(tables.unit_item.end(), item.groups, number);
    }
    items.push_back(item);
  }
  tables.states_at = take(items.size() * sizeof(State));
  tables.progress_at = take(sizeof(Progress));
  tables.items_at = take(items.size() * sizeof(Item));
  tables.units_at = take(tables.unit_item.size() * sizeof(uint32_t));
  tables.spans_at = take(tables.span_item.size() * sizeof(uint32_t));
  const auto memory = [&]<typename T>(T **p, size_t count) {
    *p = reinterpret_cast<T *>(scratch + take(count * sizeof(T)));
  };
  for (Item &item : items) {
    if (exact) {
      const size_t parts = size_t(item.units) * kWarps;
      memory(&item.bits, parts * item.slots);
      memory(&item.at, parts * item.slots);
      memory(&item.part_count, parts);
      memory(&item.span_count, item.spans);
      memory(&item.warp_count, size_t(item.spans) * kWarps);
    } else {
      const size_t tiles = size_t(item.groups) * kGroupTiles;
      memory(&item.tile_above, tiles);
      memory(&item.tile_within, tiles);
      memory(&item.group_above, item.groups);
      memory(&item.group_within, item.groups);
      memory(&item.group_sum, item.groups);
    }
  }
  return tables;
}

}  // namespace commsched::ops::sparse::cuda
