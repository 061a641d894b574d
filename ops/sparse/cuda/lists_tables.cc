// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/lists_tables.h"

#include <algorithm>

namespace commsched::ops::sparse::cuda {
namespace {

size_t Aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

ListTables LayOutLists(int64_t width, const std::vector<List> &lists,
                       std::byte *scratch) {
  ListTables tables;
  const auto take = [&tables](size_t bytes) {
    const size_t at = tables.bytes;
    tables.bytes += Aligned(bytes);
    return at;
  };
  // One without entries has a group, which says that nothing was merged.
  const auto groups_of = [](const List &list) {
    return std::max<int64_t>(1, (list.count + kListGroup - 1) / kListGroup);
  };
  size_t groups = 0;
  for (const List &list : lists) groups += size_t(groups_of(list));
  tables.states_at = take(lists.size() * sizeof(ListState));
  tables.items_at = take(lists.size() * sizeof(ListItem));
  tables.groups_at = take(groups * sizeof(uint32_t));
  for (const List &list : lists) {
    ListItem item{};
    item.indices = list.indices;
    item.values = list.values;
    item.count = list.count;
    item.run = list.run;
    item.size = list.size;
    item.width = width;
    item.scale = float(list.scale);
    item.target = list.target;
    item.merged_indices = list.merged_indices;
    item.merged_values = list.merged_values;
    item.merged = list.merged;
    for (int64_t run = list.run; run < list.count; run *= 2) ++item.merges;
    const size_t count = size_t(list.count);
    for (int i = 0; i < (item.merges == 0 ? 1 : 2); ++i) {
      item.keys[i] = reinterpret_cast<uint64_t *>(
          scratch + take(count * sizeof(uint64_t)));
      item.places[i] = reinterpret_cast<uint32_t *>(
          scratch + take(count * sizeof(uint32_t)));
    }
    item.groups = uint32_t(groups_of(list));
    item.first_group = uint32_t(tables.group_item.size());
    item.group_heads = reinterpret_cast<uint32_t *>(
        scratch + take(item.groups * sizeof(uint32_t)));
    tables.group_item.insert(tables.group_item.end(), item.groups,
                             uint32_t(tables.items.size()));
    tables.merges = std::max(tables.merges, item.merges);
    tables.items.push_back(item);
  }
  return tables;
}

TopKListTables LayOutTopKLists(const ListType &type,
                               const std::vector<TopKList> &lists,
                               std::byte *scratch) {
  TopKListTables tables;
  const auto take = [&tables](size_t bytes) {
    const size_t at = tables.bytes;
    tables.bytes += Aligned(bytes);
    return at;
  };
  tables.picks_at = take(lists.size() * sizeof(PickItem));
  for (const TopKList &top : lists) {
    const size_t count = size_t(top.list.count);
    List list = top.list;
    list.target = nullptr;
    list.merged_indices = scratch + take(count * ElementBytes(type.index));
    list.merged_values = scratch + take(count * ElementBytes(type.element));
    // Padding has value 0 and comes last: it is selected where nothing else is
    // left.
    Array array;
    array.x = list.merged_values;
    array.values = top.values;
    array.size = top.list.count;
    array.k = std::min(top.k, top.list.count);
    array.indices = scratch + take(size_t(array.k) * sizeof(int32_t));
    PickItem pick{};
    pick.places = static_cast<const int32_t *>(array.indices);
    pick.merged_indices = list.merged_indices;
    pick.indices = top.indices;
    pick.values = top.values;
    pick.selected = array.k;
    pick.k = top.k;
    tables.lists.push_back(list);
    tables.arrays.push_back(array);
    tables.picks.push_back(pick);
  }
  const ListTables merged = LayOutLists(type.width, tables.lists, nullptr);
  const Tables selected = LayOut(tables.arrays, TopKMethod::kExact, nullptr);
  tables.lists_at = take(merged.bytes);
  tables.arrays_at = take(selected.bytes);
  for (size_t i = 0; i < lists.size(); ++i) {
    // Nothing is selected from a list that was not merged.
    tables.arrays[i].refused = reinterpret_cast<const unsigned long long *>(
        scratch + tables.lists_at + merged.states_at + i * sizeof(ListState));
    tables.picks[i].list = reinterpret_cast<const ListState *>(
                               scratch + tables.lists_at + merged.states_at) +
                           i;
    tables.picks[i].non_finite =
        &(reinterpret_cast<const State *>(scratch + tables.arrays_at +
                                          selected.states_at) +
          i)
             ->non_finite;
  }
  return tables;
}

}  // namespace commsched::ops::sparse::cuda
