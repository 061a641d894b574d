// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of sparse gradients, and the attributes that ask for them
// (docs/sparse.md).

#ifndef COMMSCHED_IR_CSSPARSEOPS_H
#define COMMSCHED_IR_CSSPARSEOPS_H

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include "ir/Cs.h"

#define GET_OP_CLASSES
#include "ir/CsSparseOps.h.inc"

namespace commsched::cs {

/// On a cs.gradient, and then on the cs.all_reduce of its parameter: the part of
/// the elements that travels (f64).
inline constexpr llvm::StringLiteral kDensityAttr = "cs.density";
/// Beside it: how, see exchangeMethods().
inline constexpr llvm::StringLiteral kSparseMethodAttr = "cs.sparse_method";
/// Beside cs.state: the value is each rank's own (unit).
inline constexpr llvm::StringLiteral kPerRankAttr = "cs.per_rank";

/// Ways to exchange a gradient of which few elements travel.
llvm::ArrayRef<llvm::StringRef> exchangeMethods();
/// Methods of cs.top_k, by their number in a plan (ops/sparse/kernels.h).
llvm::ArrayRef<llvm::StringRef> selectionMethods();
/// What cs.top_k keeps of a threshold: its magnitude, and how many steps it has served.
mlir::RankedTensorType thresholdType(mlir::MLIRContext *context);
/// The number of a step for cs.top_k, which counts from zero.
mlir::RankedTensorType stepNumberType(mlir::MLIRContext *context);
/// N of MSTopK: as in the paper, and the most.
inline constexpr int64_t kMsTopKSamples = 30, kMaxMsTopKSamples = 100;
/// The most steps that a threshold may serve for: all are f32 numbers.
inline constexpr int64_t kMaxThresholdSteps = int64_t(1) << 24;
/// The tensor whose elements a list names, if it comes out of a message, or with
/// `selected` was selected; null if that is not known here.
mlir::RankedTensorType tensorOfLists(mlir::Value list, bool selected);
/// Of a message of coordinate lists.
inline constexpr int64_t kWordBytes = 4;
/// "a, b or c".
std::string listOf(llvm::ArrayRef<llvm::StringRef> names);

/// Verifies kDensityAttr, kSparseMethodAttr; success for other attributes.
llvm::LogicalResult verifySparseAttribute(mlir::Operation *op, mlir::NamedAttribute attr);
/// Verifies kPerRankAttr on argument `index` of `op`.
llvm::LogicalResult verifyPerRank(mlir::Operation *op, mlir::NamedAttribute attr,
                                  unsigned index);

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSSPARSEOPS_H
