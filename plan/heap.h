// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A binary heap in a vector, as std::push_heap and std::pop_heap keep it: `after(a, b)`
// says that a comes after b, and the front comes first. Entries go from place to place,
// never by way of a copy: one that is read in wide words right after it was written in
// short ones waits for the writes, which was a tenth of a simulation.
#ifndef COMMSCHED_PLAN_HEAP_H
#define COMMSCHED_PLAN_HEAP_H

#include <cstddef>
#include <utility>
#include <vector>

namespace commsched::plan {

// The last entry is new.
template <typename T, typename After>
void PushHeap(std::vector<T> &heap, After after) {
  size_t at = heap.size() - 1;
  if (at == 0 || !after(heap[(at - 1) / 2], heap[at])) return;
  T entry = std::move(heap[at]);
  for (; at > 0 && after(heap[(at - 1) / 2], entry); at = (at - 1) / 2)
    heap[at] = std::move(heap[(at - 1) / 2]);
  heap[at] = std::move(entry);
}

// Takes the front out of a heap that is not empty.
template <typename T, typename After>
void PopHeap(std::vector<T> &heap, After after) {
  const size_t last = heap.size() - 1;
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < last; at = child) {
    if (child + 1 < last && after(heap[child], heap[child + 1])) ++child;
    if (!after(heap[last], heap[child])) break;
    heap[at] = std::move(heap[child]);
  }
  if (at != last) heap[at] = std::move(heap[last]);
  heap.pop_back();
}

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_HEAP_H
