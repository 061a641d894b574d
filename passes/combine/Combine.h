// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of --combine-collectives. Each is linear in the function. Internal to
// passes/combine/.

#ifndef COMMSCHED_PASSES_COMBINE_COMBINE_H
#define COMMSCHED_PASSES_COMBINE_COMBINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/Cs.h"

namespace commsched::combine {

/// Learns of what was made, at its place.
using Tell = llvm::function_ref<void(mlir::Operation *made, const llvm::Twine &what)>;

/// One all-reduce of a sum or difference in the place of two.
void combineSums(mlir::func::FuncOp func, Tell tell);

/// A reduce-scatter in the place of an all-reduce of which each node of `nodes` uses its
/// own part.
void scatterParts(mlir::func::FuncOp func, int64_t nodes, Tell tell);

/// All-gathers of ids and rows in the place of an all-reduce of a table that has other
/// rows than zeros only there, where the nodes then send less.
void gatherRows(mlir::func::FuncOp func, int64_t nodes, Tell tell);

/// The all-reduce that makes an argument of the fragment's body, if that argument has one
/// use and the fragment is the only reader of the result.
cs::AllReduceOp soleReduce(cs::FragmentOp fragment, mlir::Value argument);

} // namespace commsched::combine

#endif // COMMSCHED_PASSES_COMBINE_COMBINE_H
