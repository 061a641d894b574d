// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over whole tensors that every node computes, and what they take.

#ifndef COMMSCHED_PASSES_SPREAD_SUMS_H
#define COMMSCHED_PASSES_SPREAD_SUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "ir/Cs.h"

namespace commsched::spread {

/// A sum that may be computed elsewhere.
struct Sum {
  cs::FragmentOp fragment;
  mlir::linalg::GenericOp op;
  /// What it is computed from, in order, ending with `op`.
  llvm::SmallVector<mlir::Operation *> slice;
  /// Arguments of the fragment's body that the slice reads.
  llvm::SmallVector<mlir::BlockArgument> reads;
  int64_t flops;      // of the slice
  int64_t bytes;      // read by who computes it: those of `reads`
  int64_t savedFlops; // of the ops that nothing else in the fragment needs
  int64_t savedBytes; // that those read
  bool communicated;  // depends on a communication of the step
};

/// Sums of at least `minElements` elements that are the same on all nodes, of
/// fragments that may wait for them, in the order of the function. None depends on
/// another, except that those that depend on a communication of the step may depend
/// on those that do not.
llvm::SmallVector<Sum> findSums(mlir::func::FuncOp func, int64_t minElements);

} // namespace commsched::spread

#endif // COMMSCHED_PASSES_SPREAD_SUMS_H
