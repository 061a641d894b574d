// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of bf16 and f16 are kept in f32 and rounded once.

#ifndef COMMSCHED_PASSES_PLAN_HALFSUMS_H
#define COMMSCHED_PASSES_PLAN_HALFSUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace commsched::planexport {

/// bf16 or f16.
bool isHalf(mlir::Type type);

/// Tensors: what a reduction combines with add, multiply, maximum or minimum in
/// bf16 or f16 it combines in f32, and one conversion follows. Not where it reads
/// wider numbers than it combines: that is how the program wants it. Nor
/// contractions that library kernels may run (kernelFamily): these do so anyway.
void widenSums(mlir::func::FuncOp function);

/// The same of one contraction of buffers that stays loops.
void widenSum(mlir::linalg::GenericOp op);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_HALFSUMS_H
