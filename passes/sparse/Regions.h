// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments of Ok-Topk: each rank owns a region of the indices, adds up what all have
// selected there, and keeps the largest sums. S. Li, T. Hoefler, "Near-optimal sparse
// allreduce for distributed deep learning", PPoPP 2022.

#ifndef COMMSCHED_PASSES_SPARSE_REGIONS_H
#define COMMSCHED_PASSES_SPARSE_REGIONS_H

#include "passes/sparse/Selection.h"

namespace commsched::sparse {

/// Entries of the lists that ranks exchange, if each selects k.
struct Regions {
  Regions(int64_t selected, int64_t nodes);

  int64_t nodes;
  int64_t capacity; // of what a rank sends to the owner of a region
  int64_t kept;     // by the owner
  /// Of a message with a list of each node's: values, indices, and a count.
  int64_t bytesSent(int64_t valueBytes) const;
  /// Whether a count of entries of all ranks fits an index.
  static bool fits(int64_t selected, int64_t nodes);
};

// Lists are counted: the indices have padding behind (-1), and the count is the number
// of entries selected in the region.

/// Selects, cuts the selection by the regions that `shifts` make, and keeps what does
/// not fit. The message has the lists of all regions twice.
struct Split {
  mlir::Value lists;
  Kept kept; // the new values
};
Split splitTopK(const SelectionContext &context, llvm::StringRef label, mlir::Value value,
                const Kept &kept, mlir::Value shifts, const Regions &regions, bool deferred);

/// Of the lists of a region, which are the second half of `lists`, the largest sums.
/// Deferred.
mlir::Value mergeRegion(const SelectionContext &context, llvm::StringRef label,
                        mlir::Value lists, const Regions &regions);

/// `rest` and what this rank has sent, the first half of `lists`, but is not in
/// `result`, the lists of all owners. Deferred.
mlir::Value giveBackRegions(const SelectionContext &context, llvm::StringRef label,
                            mlir::Value rest, mlir::Value lists, mlir::Value result,
                            const Regions &regions);

/// The shifts of the next step. Deferred.
mlir::Value balanceRegions(const SelectionContext &context, llvm::StringRef label,
                           mlir::Value result, mlir::Value shifts,
                           const Regions &regions);

/// The tensor of the owners' lists, divided by `over`. Deferred.
mlir::Value scatterRegions(const SelectionContext &context, llvm::StringRef label,
                           mlir::Value result, int64_t over, const Regions &regions);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_REGIONS_H
