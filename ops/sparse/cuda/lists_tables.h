// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays the tables of a batch of lists out in device memory. Plain C++: the
// tests use it without a device.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_LISTS_TABLES_H
#define COMMSCHED_OPS_SPARSE_CUDA_LISTS_TABLES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/sparse/cuda/lists_layout.h"
#include "ops/sparse/cuda/top_k_tables.h"
#include "ops/sparse/lists.h"

namespace commsched::ops::sparse::cuda {

// A list that is added into an array, or merged; addresses are the device's.
// Its first `run` entries ascend by index with padding behind, the next `run`
// too, and so on: lists of several ranks, one behind the other. 1: any order.
struct List {
  const void *indices = nullptr;  // [count]
  const void *values = nullptr;   // [count, width]
  int64_t count = 0;              // 0 .. 2^31
  int64_t run = 1;
  int64_t size = 0;  // indices are -1 or below
  double scale = 1;
  void *target = nullptr;          // [size, width], or null for a merge:
  void *merged_indices = nullptr;  // [count]
  void *merged_values = nullptr;   // [count, width]
  int64_t *merged = nullptr;       // their number, or null
};

struct ListTables {
  // At the beginning of the scratch memory, each aligned to 64 bytes: the
  // states, the items, and the item of each group.
  std::vector<ListItem> items;
  std::vector<uint32_t> group_item;
  size_t states_at = 0, items_at = 0, groups_at = 0;
  size_t bytes = 0;     // of all scratch
  uint32_t merges = 0;  // the most of an item
};

// `scratch`: the device's address; null if only the size is of interest.
ListTables LayOutLists(int64_t width, const std::vector<List> &lists,
                       std::byte *scratch);

// A list of which the k largest are wanted after merging; width 1. list.target
// and the merged list are not used.
struct TopKList {
  List list;
  int64_t k = 0;
  void *indices = nullptr;  // [k]
  void *values = nullptr;   // [k]
};

struct TopKListTables {
  // What is merged, and then selected from. Offsets of the scratch memory of
  // both, and of the picks.
  std::vector<List> lists;
  std::vector<Array> arrays;
  std::vector<PickItem> picks;
  size_t lists_at = 0, arrays_at = 0, picks_at = 0;
  size_t bytes = 0;
};

TopKListTables LayOutTopKLists(const ListType &type,
                               const std::vector<TopKList> &lists,
                               std::byte *scratch);

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_LISTS_TABLES_H
