// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on bf16 and f16, on scalars.

#ifndef COMMSCHED_PASSES_PLAN_HALFARITHMETIC_H
#define COMMSCHED_PASSES_PLAN_HALFARITHMETIC_H

#include "mlir/IR/BuiltinOps.h"

namespace commsched::planexport {

/// Arithmetic on bf16 and f16 becomes that of f32 between conversions, and
/// conversions those from and to f32.
void widenHalves(mlir::ModuleOp module);

/// Conversions of bf16 become arithmetic on integers.
llvm::LogicalResult expandHalves(mlir::ModuleOp module);

/// In the LLVM dialect: values of bf16 become integers of 16 bits, so that LLVM
/// has none to convert. An error at an op that computes with one.
llvm::LogicalResult storeHalvesAsIntegers(mlir::ModuleOp module);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_HALFARITHMETIC_H
