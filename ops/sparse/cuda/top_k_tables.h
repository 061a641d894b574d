// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays the tables of a batch out in device memory. Plain C++: the tests use it
// without a device.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_TOP_K_TABLES_H
#define COMMSCHED_OPS_SPARSE_CUDA_TOP_K_TABLES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/sparse/cuda/top_k_layout.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse::cuda {

// One array of a batch; addresses are the device's.
struct Array {
  const void *x = nullptr;         // [size]; with feedback, the gradient
  const void *residual = nullptr;  // [size], or null without feedback
  void *sum = nullptr;             // [size]; may be the memory of the residual
  void *values = nullptr;          // [k]
  void *indices = nullptr;         // [k]
  int64_t size = 0;                // 0 .. 2^31
  int64_t k = 0;                   // 0 .. size
  // Null, or two numbers of the device: where one is not 0 by then, because of
  // what was to write x, the array is left alone.
  const unsigned long long *refused = nullptr;
};

struct Tables {
  // What lies at the beginning of the scratch memory, one behind the other,
  // each aligned to 64 bytes: the states, the progress, the items, and the item
  // of each unit and span (of MSTopK, of each group). The progress is 0; the
  // rest needs no content.
  std::vector<Item> items;
  std::vector<uint32_t> unit_item, span_item;
  size_t states_at = 0, progress_at = 0, items_at = 0, units_at = 0,
         spans_at = 0;
  size_t bytes = 0;  // of all scratch
};

// `scratch`: the device's address; null if only the size is of interest.
Tables LayOut(const std::vector<Array> &arrays, TopKMethod method,
              std::byte *scratch);

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_TOP_K_TABLES_H
