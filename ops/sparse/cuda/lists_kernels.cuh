// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that add lists into arrays and merge them with CUDA:
// ops/sparse/lists.cc, bit for bit. Runs of ascending entries are merged two by
// two, an entry's place being found by bisection in the other run; then the
// first entry of each index adds up those behind it, in the order of the list.
// Nothing depends on the order in which blocks run. Compiled by nvcc, and for
// the tests by a C++ compiler with an emulation of what they use of CUDA.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_LISTS_KERNELS_CUH
#define COMMSCHED_OPS_SPARSE_CUDA_LISTS_KERNELS_CUH

#include <cstdint>

#include "ops/sparse/cuda/device.cuh"
#include "ops/sparse/cuda/lists_layout.h"

namespace commsched::ops::sparse::cuda {

// Padding is index -1, the largest of unsigned numbers.
constexpr uint64_t kPadding = ~uint64_t{0};

__device__ inline bool IsBad(const ListState &state) {
  return state.outside_inverted != 0 || state.unordered_inverted != 0;
}

// function(entry) for the entries of this thread in the block's group.
template <typename Function>
__device__ inline void ForEntries(const ListItem &item, Function function) {
  const int64_t begin = int64_t(blockIdx.x - item.first_group) * kListGroup;
  for (int j = 0; j < kListRounds; ++j) {
    const int64_t i = begin + j * kListThreads + int64_t(threadIdx.x);
    if (i < item.count) function(i);
  }
}

// Keys and places, and whether the list is as it should be.
template <class Index>
__global__ void LoadListKernel(const ListItem *items, ListState *states,
                               const uint32_t *group_item) {
  const uint32_t number = group_item[blockIdx.x];
  const ListItem &item = items[number];
  ListState &state = states[number];
  const auto *indices = static_cast<const Index *>(item.indices);
  ForEntries(item, [&](int64_t i) {
    const int64_t index = indices[i];
    if (index < -1 || index >= item.size)
      atomicMax(&state.outside_inverted, ~(unsigned long long)(i));
    if (i % item.run != 0 &&
        uint64_t(int64_t(indices[i - 1])) > uint64_t(index))
      atomicMax(&state.unordered_inverted, ~(unsigned long long)(i));
    item.keys[0][i] = uint64_t(index);
    item.places[0][i] = uint32_t(i);
  });
}

// How many of keys[0 .. n) are less than `key`, or not larger.
__device__ inline int64_t CountBefore(const uint64_t *keys, int64_t n,
                                      uint64_t key, bool equal_too) {
  int64_t low = 0;
  while (low < n) {
    const int64_t middle = low + (n - low) / 2;
    const uint64_t other = keys[middle];
    if (other < key || (equal_too && other == key))
      low = middle + 1;
    else
      n = middle;
  }
  return low;
}

// Runs are twice as long afterwards; of equal keys those of the first come
// first.
static __global__ void MergeRunsKernel(const ListItem *items,
                                       const ListState *states,
                                       const uint32_t *group_item,
                                       uint32_t round) {
  const uint32_t number = group_item[blockIdx.x];
  const ListItem &item = items[number];
  if (round >= item.merges || IsBad(states[number])) return;
  const uint64_t *keys = item.keys[round % 2];
  const uint32_t *places = item.places[round % 2];
  const int64_t run = item.run << round;
  ForEntries(item, [&](int64_t i) {
    const int64_t begin = i / run / 2 * 2 * run;
    const int64_t middle = min(begin + run, item.count);
    const int64_t end = min(middle + run, item.count);
    const uint64_t key = keys[i];
    const int64_t others =
        i < middle ? CountBefore(keys + middle, end - middle, key, false)
                   : CountBefore(keys + begin, run, key, true) - run;
    item.keys[(round + 1) % 2][i + others] = key;
    item.places[(round + 1) % 2][i + others] = places[i];
  });
}

__device__ inline bool IsHead(const uint64_t *keys, int64_t i) {
  return keys[i] != kPadding && (i == 0 || keys[i - 1] != keys[i]);
}

// How many indices there are, and in all groups before each.
static __global__ void CountHeadsKernel(const ListItem *items,
                                        ListState *states,
                                        const uint32_t *group_item) {
  const uint32_t number = group_item[blockIdx.x];
  const ListItem &item = items[number];
  ListState &state = states[number];
  __shared__ uint32_t heads;
  __shared__ uint32_t sums[kListThreads / kWarp];
  __shared__ bool last;
  if (IsBad(state)) return;
  if (threadIdx.x == 0) heads = 0;
  __syncthreads();
  const uint64_t *keys = item.keys[item.merges % 2];
  uint32_t own = 0;
  ForEntries(item, [&](int64_t i) { own += IsHead(keys, i); });
  own = WarpSum(own);
  if (Lane() == 0 && own != 0) atomicAdd(&heads, own);
  __syncthreads();
  if (threadIdx.x == 0)
    item.group_heads[blockIdx.x - item.first_group] = heads;
  if (!IsLast(&state.ticket, item.groups, &last)) return;
  const uint32_t merged = CountsBefore<kListThreads / kWarp>(
      item.group_heads, item.groups, sums);
  if (threadIdx.x == 0) {
    state.merged = merged;
    if (item.merged != nullptr) *item.merged = merged;
  }
}

// Adds up the entries from i on that have its index, columns first, first +
// step, ..; to the target, or as entry `place` of the merged list.
template <class F, class Index>
__device__ inline void AddEntries(const ListItem &item, const uint64_t *keys,
                                  const uint32_t *places, int64_t i,
                                  uint32_t place, int first, int step) {
  using S = typename F::Storage;
  const uint64_t key = keys[i];
  const auto *values = static_cast<const S *>(item.values);
  const int64_t width = item.width;
  for (int64_t column = first; column < width; column += step) {
    if (item.target != nullptr) {
      S *sum = static_cast<S *>(item.target) + int64_t(key) * width + column;
      S s = *sum;
      for (int64_t e = i; e < item.count && keys[e] == key; ++e) {
        float v = F::Load(values[places[e] * width + column]);
        if (item.scale != 1) v = F::Load(F::Store(v * item.scale));
        s = F::Store(F::Load(s) + v);
      }
      *sum = s;
    } else {
      S s = values[places[i] * width + column];
      for (int64_t e = i + 1; e < item.count && keys[e] == key; ++e)
        s = F::Store(F::Load(s) + F::Load(values[places[e] * width + column]));
      if (item.scale != 1) s = F::Store(F::Load(s) * item.scale);
      static_cast<S *>(item.merged_values)[place * width + column] = s;
    }
  }
  if (item.target == nullptr && first == 0)
    static_cast<Index *>(item.merged_indices)[place] = Index(key);
}

// Sums, and padding behind a merged list.
template <class F, class Index>
__global__ void AddListKernel(const ListItem *items, const ListState *states,
                              const uint32_t *group_item) {
  using S = typename F::Storage;
  const uint32_t number = group_item[blockIdx.x];
  const ListItem &item = items[number];
  const ListState &state = states[number];
  __shared__ uint32_t heads[kListThreads / kWarp];
  if (IsBad(state)) return;
  const uint64_t *keys = item.keys[item.merges % 2];
  const uint32_t *places = item.places[item.merges % 2];
  const uint32_t group = blockIdx.x - item.first_group;
  uint32_t before = item.group_heads[group];
  for (int j = 0; j < kListRounds; ++j) {
    const int64_t first = int64_t(group) * kListGroup + j * kListThreads;
    const int64_t i = first + int64_t(threadIdx.x);
    const bool head = i < item.count && IsHead(keys, i);
    unsigned all = __ballot_sync(kAll, head);
    if (Lane() == 0) heads[WarpNumber()] = uint32_t(__popc(all));
    __syncthreads();
    uint32_t place = before;
    for (int w = 0; w < kListThreads / kWarp; ++w) {
      if (w < WarpNumber()) place += heads[w];
      before += heads[w];
    }
    __syncthreads();
    if (item.width < kWideRow) {
      if (head)
        AddEntries<F, Index>(item, keys, places, i,
                             place + uint32_t(__popc(all & Before())), 0, 1);
    } else {
      for (; all != 0; all &= all - 1)
        AddEntries<F, Index>(
            item, keys, places,
            first + WarpNumber() * kWarp + (__ffs(int(all)) - 1), place++,
            Lane(), kWarp);
    }
    if (item.target == nullptr && i >= state.merged && i < item.count) {
      static_cast<Index *>(item.merged_indices)[i] = Index(-1);
      auto *row = static_cast<S *>(item.merged_values) + i * item.width;
      for (int64_t c = 0; c < item.width; ++c) row[c] = 0;
    }
  }
}

// kPickBlocks blocks for each list.
template <class F, class Index>
__global__ void PickKernel(const PickItem *items) {
  using S = typename F::Storage;
  const PickItem &item = items[blockIdx.x / kPickBlocks];
  if (IsBad(*item.list) || *item.non_finite != 0) return;
  const int64_t first =
      int64_t(blockIdx.x % kPickBlocks) * kListThreads + int64_t(threadIdx.x);
  for (int64_t i = first; i < item.k; i += kPickBlocks * kListThreads) {
    const bool there = i < item.selected;
    static_cast<Index *>(item.indices)[i] =
        there ? static_cast<const Index *>(item.merged_indices)[item.places[i]]
              : Index(-1);
    if (!there) static_cast<S *>(item.values)[i] = 0;
  }
}

// All of it: `launch(kernel, blocks, threads, arguments...)`. The states are 0;
// `merges` is the largest of the items.
template <class F, class Index, class Launch>
void EnqueueLists(const ListItem *items, ListState *states,
                  const uint32_t *group_item, uint32_t group_count,
                  uint32_t merges, const Launch &launch) {
  if (group_count == 0) return;
  const auto *read = static_cast<const ListState *>(states);
  launch(LoadListKernel<Index>, group_count, kListThreads, items, states,
         group_item);
  for (uint32_t round = 0; round < merges; ++round)
    launch(MergeRunsKernel, group_count, kListThreads, items, read, group_item,
           round);
  launch(CountHeadsKernel, group_count, kListThreads, items, states,
         group_item);
  launch(AddListKernel<F, Index>, group_count, kListThreads, items, read,
         group_item);
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_LISTS_KERNELS_CUH
