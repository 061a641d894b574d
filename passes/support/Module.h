// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes of this folder agree on about a module: its cluster, the
// names of attributes, and how functions of single ranks are called.

#ifndef COMMSCHED_PASSES_SUPPORT_MODULE_H
#define COMMSCHED_PASSES_SUPPORT_MODULE_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace commsched {

// On an expanded cs.start: what its exchanges compute.
inline constexpr llvm::StringLiteral kCollectiveAttr = "cs.collective";
inline constexpr llvm::StringLiteral kReductionAttr = "cs.reduction";
inline constexpr llvm::StringLiteral kRootAttr = "cs.root";
// On a cs.start (i64): its place in the order in which the schedule expects that the
// messages of a step are sent and come.
inline constexpr llvm::StringLiteral kTurnAttr = "cs.turn";

/// The cluster of the module; an error at the module if there is not exactly
/// one.
llvm::FailureOr<cs::ClusterOp> findCluster(mlir::ModuleOp module);

/// True if `function` is of level 1 or 2: its body holds cs ops other than those of level 0,
/// or values are placed, or it is a parameter server's.
/// Declarations are not.
bool isDistributed(mlir::func::FuncOp function);

/// How many processes run `function`: its cs.count, else the cluster's nodes;
/// one if it is a parameter server's.
int64_t getRankCount(mlir::func::FuncOp function, cs::ClusterOp cluster);

/// Rank that the function belongs to, if it is of one rank only.
std::optional<int64_t> getRank(mlir::func::FuncOp function);

/// "step.rank3" for the function "step" of rank 3.
std::string getRankName(llvm::StringRef role, int64_t rank);

/// Name of the role that `function` belongs to: its own, or, if it is of one
/// rank, what getRankName() made it from; nothing if it is not named so.
std::optional<llvm::StringRef> getRole(mlir::func::FuncOp function);

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_MODULE_H
