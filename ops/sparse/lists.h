// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of (index, value): added into dense arrays, merged, and cleared.
//
// A list has an index i and `width` values: element i of an array (width 1), or
// row i of a matrix. Index -1 is padding: it means nothing, and its values are
// not looked at. Sums are added in the order of the list, each rounded to the
// element. Pure functions of their arguments.
#ifndef COMMSCHED_OPS_SPARSE_LISTS_H
#define COMMSCHED_OPS_SPARSE_LISTS_H

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ops/base/element.h"

namespace commsched::ops::sparse {

struct ListType {
  Element element = Element::kF32;  // floating point
  Element index = Element::kI32;    // kI32 or kI64
  int64_t width = 1;                // values of an index, at least 1
};

// target[i] += scale * value for each (i, value) of the list, in its order.
// `target` is [size, width]. kOutOfRange, before anything is written, for an
// index that is neither -1 nor in 0 .. size - 1.
absl::Status ScatterAdd(const ListType &type, const void *indices,
                        const void *values, int64_t count, double scale,
                        void *target, int64_t size);

// target[i] = 0 for each i of the list. Errors as above.
absl::Status ScatterClear(const ListType &type, const void *indices,
                          int64_t count, void *target, int64_t size);

// target[i] += value for each (i, value) of the list whose i is not in
// `others`: gives back what was selected here, and was not sent in the end.
// Both lists are ascending, with padding anywhere. kInvalidArgument if they
// are not; kOutOfRange as above.
absl::Status ScatterAddOthers(const ListType &type, const void *indices,
                              const void *values, int64_t count,
                              const void *others, int64_t other_count,
                              void *target, int64_t size);

// Bytes of scratch of MergeLists and MergeTopK for `count` indices.
size_t MergeScratchBytes(const ListType &type, int64_t count);

// The sum of entries of equal index, each index once, ascending; `scale` times,
// if that is not 1. *merged gets their number, at most `count`; the
// `count` places of the output behind it are padding, with values 0. The list
// may be in any order: several lists one after the other are merged.
// kOutOfRange for a negative index that is not padding.
absl::Status MergeLists(const ListType &type, const void *indices,
                        const void *values, int64_t count, double scale,
                        void *merged_indices, void *merged_values,
                        int64_t *merged, void *scratch);

// The k entries of largest magnitude of what MergeLists would make, in the
// order of ops/sparse/top_k.h, or all of them, with padding behind. Width 1.
// kInvalidArgument if a sum is not finite.
absl::Status MergeTopK(const ListType &type, const void *indices,
                       const void *values, int64_t count, int64_t k,
                       void *top_indices, void *top_values, void *scratch);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_LISTS_H
