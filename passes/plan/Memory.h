// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assignment of memory by liveness, for scratch and for arenas.

#ifndef COMMSCHED_PASSES_PLAN_MEMORY_H
#define COMMSCHED_PASSES_PLAN_MEMORY_H

#include "mlir/IR/Types.h"

#include "llvm/ADT/ArrayRef.h"

namespace commsched::planexport {

/// Something that needs `bytes` from time `first` to time `last`, inclusive.
struct Interval {
  uint64_t bytes = 0;
  unsigned first = 0;
  unsigned last = 0;
  uint64_t offset = 0;
};

/// Gives intervals that overlap disjoint bytes, 64-byte aligned: largest
/// first, each into the smallest gap that fits. Returns the bytes needed.
uint64_t placeIntervals(llvm::MutableArrayRef<Interval> intervals);

/// Bytes of one element in memory; i1 takes a byte.
uint64_t elementBytes(mlir::Type type);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_MEMORY_H
