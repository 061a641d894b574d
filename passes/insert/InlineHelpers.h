// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of a program's functions, inlined: a step may call them, a fragment may not.

#ifndef COMMSCHED_PASSES_INSERT_INLINEHELPERS_H
#define COMMSCHED_PASSES_INSERT_INLINEHELPERS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace commsched {

/// `run` runs passes over the module. Functions that the program's do not name stay as they are, and private ones that only
/// the program's called go. What cannot be inlined is refused later.
llvm::LogicalResult inlineHelpers(mlir::ModuleOp module,
                                  llvm::function_ref<llvm::LogicalResult(mlir::OpPassManager &)> run);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_INLINEHELPERS_H
