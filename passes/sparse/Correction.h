// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands between a gradient and its selection in place of the optimizer behind
// it: momentum (Lin et al., "Deep gradient compression", ICLR 2018), or the moments
// of Adam (Chen et al., "Quantized Adam with error feedback", ACM TIST 2021).

#ifndef COMMSCHED_PASSES_SPARSE_CORRECTION_H
#define COMMSCHED_PASSES_SPARSE_CORRECTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSet.h"

namespace commsched::sparse {

/// Of a fragment that keeps moments: the options of --lower-sparse-comm that say how (a string).
inline constexpr llvm::StringLiteral kCorrectionAttr = "cs.correction";

struct CorrectionRules {
  double momentum = 0;     // 0: none
  double secondMoment = 0; // decay of the mean of squares; 0: none
  double epsilon = 1e-8;   // added to its root
  /// With both: the squares of the mean of all ranks, as far as a rank's own tell.
  bool squaresOfMean = true;

  bool any() const { return momentum > 0 || secondMoment > 0; }
};

/// State of one tensor, by what the rules want; null where they do not. With second
/// moments `velocity` is a mean of gradients, else a sum, and all are f32.
struct Moments {
  mlir::Value velocity; // of the tensor's shape
  mlir::Value squares;  // of the tensor's shape
  mlir::Value weights;  // <2>: what the weights in the two means sum up to

  llvm::SmallVector<mlir::Value, 3> present() const;
  /// `values` in place of those that are present, in their order.
  Moments with(mlir::ValueRange values) const;
};

/// Types of the state of a tensor, null where the rules do not want it.
struct MomentTypes {
  mlir::RankedTensorType velocity, squares, weights;
};
MomentTypes momentTypes(mlir::RankedTensorType type, const CorrectionRules &rules);

/// Of tensors: what to apply in place of `gradient`, one of `ranks` that are combined, and
/// the new state.
struct Corrected {
  mlir::Value direction;
  Moments next;
};
Corrected correct(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value gradient,
                  const Moments &moments, const CorrectionRules &rules, int64_t ranks);

/// An error at a gradient of `params` of which --combine-collectives or --replicate-devices=hierarchical
/// has made something else: it would go uncorrected.
llvm::LogicalResult checkNotCombined(mlir::func::FuncOp func, const llvm::StringSet<> &params);

/// How often memory of the tensor's size is read or written by that.
int64_t passesOfCorrection(const CorrectionRules &rules);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_CORRECTION_H
