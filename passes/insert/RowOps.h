// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs.lookup and cs.segment_sum where they are ordinary compute.

#ifndef COMMSCHED_PASSES_INSERT_ROWOPS_H
#define COMMSCHED_PASSES_INSERT_ROWOPS_H

#include <optional>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace commsched {

/// Rewrites every cs.lookup (a gather with clamped ids) and cs.segment_sum (a
/// scatter-add that drops ids outside) of `func` to linalg, tensor and scf, but
/// for those that `keep` names. Those without users go. `func`: a function, or an op in
/// one.
void lowerRowOps(mlir::Operation *func,
                 llvm::function_ref<bool(mlir::Operation *)> keep);

/// Ids and values of a cs.segment_sum.
struct SegmentSumOperands {
  mlir::Value ids, values;
};
/// Those of the cs.segment_sum that would become the very ops that `value` is made by.
std::optional<SegmentSumOperands> matchSegmentSum(mlir::Value value);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_ROWOPS_H
