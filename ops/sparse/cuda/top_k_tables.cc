// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/top_k_tables.h"

#include <algorithm>
#include <cmath>

namespace commsched::ops::sparse::cuda {
namespace {

// Of smaller arrays there is no sample: everything is a candidate.
constexpr int64_t kMinSize = 1 << 16;

// A rank in the sample that is below the k-th magnitude by four standard
// deviations, as if neighbours were alike by half.
uint32_t SampleRank(int64_t size, int64_t k) {
  if (size < kMinSize) return 0;
  const double expected = double(kSample) * double(k) / double(size);
  const double rank = std::ceil(expected + 6 * std::sqrt(expected) + 6);
  return rank < kSample ? uint32_t(rank) : 0;
}

// What a tile's candidates need with great likelihood, in whole warps. None if
// there is no sample: the tile itself is as good.
uint32_t SlotCount(uint32_t sample_rank) {
  if (sample_rank == 0) return 0;
  const double expected = double(sample_rank) / kSample * kTile;
  const double slots = expected + 8 * std::sqrt(expected) + 8;
  return uint32_t(std::min<double>(kTile, std::ceil(slots / kWarp) * kWarp));
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
  size_t groups = 0;
  for (const Array &array : arrays)
    groups += size_t((array.size + kGroup - 1) / kGroup);
  tables.states_at = take(arrays.size() * sizeof(State));
  tables.items_at = take(arrays.size() * sizeof(Item));
  tables.groups_at = take(groups * sizeof(uint32_t));
  const auto numbers = [&](size_t count) {
    return reinterpret_cast<uint32_t *>(scratch +
                                        take(count * sizeof(uint32_t)));
  };
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
    if (method == TopKMethod::kExact || method == TopKMethod::kSampled)
      item.sample_rank = SampleRank(array.size, array.k);
    item.groups = uint32_t((array.size + kGroup - 1) / kGroup);
    item.first_group = uint32_t(tables.group_item.size());
    const size_t tiles = size_t(item.groups) * kGroupTiles;
    item.slots = SlotCount(item.sample_rank);
    item.bits = numbers(tiles * item.slots);
    item.at = reinterpret_cast<uint16_t *>(
        scratch + take(tiles * item.slots * sizeof(uint16_t)));
    item.tile_count = numbers(tiles);
    item.tile_above = numbers(tiles);
    item.tile_within = numbers(tiles);
    item.group_above = numbers(item.groups);
    item.group_within = numbers(item.groups);
    if (method == TopKMethod::kMsTopK)
      item.group_sum = reinterpret_cast<unsigned long long *>(
          scratch + take(item.groups * sizeof(unsigned long long)));
    tables.group_item.insert(tables.group_item.end(), item.groups,
                             uint32_t(tables.items.size()));
    tables.items.push_back(item);
  }
  return tables;
}

}  // namespace commsched::ops::sparse::cuda
