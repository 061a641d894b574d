// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_INSERT_OUTLINE_H
#define COMMSCHED_PASSES_INSERT_OUTLINE_H

#include "passes/insert/Partition.h"

namespace commsched {

/// Rewrites the function to level 1: fragments and communications as planned,
/// all on device 0. The ops move; nothing is copied but what each fragment
/// repeats for itself. Gradients combine by `reduction`, all else by mean.
mlir::LogicalResult outline(const ProgramFunction &function,
                            const Partition &partition,
                            cs::Reduction reduction);

/// Floating-point operations of `op`, estimated; loops of unknown length count
/// once. Never negative; saturates.
int64_t estimateFlops(mlir::Operation *op);

/// Bytes of a dense tensor as it is stored (i1 takes one byte per element).
int64_t tensorBytes(mlir::RankedTensorType type);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_OUTLINE_H
