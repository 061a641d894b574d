// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a step, through what only cuts, joins and copies them.

#ifndef COMMSCHED_PASSES_SCHEDULE_STEPVALUES_H
#define COMMSCHED_PASSES_SCHEDULE_STEPVALUES_H

#include "ir/Cs.h"

namespace commsched {

inline bool isCommunication(mlir::Operation *op) {
  return mlir::isa_and_nonnull<cs::CommunicationOpInterface>(op);
}

/// Whether an op only cuts, joins or copies; false for null.
inline bool movesOnly(mlir::Operation *op) {
  return mlir::isa_and_nonnull<cs::SplitOp, cs::ConcatOp, cs::CopyOp, cs::PackOp, cs::UnpackOp>(op);
}

/// Fragments and communications that make a value; null for an argument.
template <typename Visit>
void forSources(mlir::Value value, const Visit &visit) {
  mlir::Operation *op = value.getDefiningOp();
  if (!movesOnly(op))
    return visit(op);
  for (mlir::Value operand : op->getOperands())
    forSources(operand, visit);
}

/// Uses of a value, in the same way.
template <typename Visit>
void forUses(mlir::Value value, const Visit &visit) {
  for (mlir::OpOperand &use : value.getUses()) {
    mlir::Operation *op = use.getOwner();
    if (!movesOnly(op))
      visit(use);
    else
      for (mlir::Value result : op->getResults())
        forUses(result, visit);
  }
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_STEPVALUES_H
