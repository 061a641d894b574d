// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a module a plan is made of, and what it cannot be made of.

#ifndef COMMSCHED_PASSES_PLAN_PLANINPUT_H
#define COMMSCHED_PASSES_PLAN_PLANINPUT_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace commsched::planexport {

/// The functions of the plan: all, where none has anything of cs.
llvm::SmallVector<mlir::func::FuncOp> functionsOf(mlir::ModuleOp module);

/// Checks that the op of every function is of level 2, and says what to run if it is not.
llvm::LogicalResult checkModule(mlir::ModuleOp module);

/// Checks what compilers and loaders of plans would not take, or take as something else.
llvm::LogicalResult checkFunction(mlir::func::FuncOp function, cs::ClusterOp cluster);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_PLANINPUT_H
