// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of the affine maps and sets of communications, without building
// attributes for them.

#ifndef COMMSCHED_PASSES_LOWER_AFFINEEVAL_H
#define COMMSCHED_PASSES_LOWER_AFFINEEVAL_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"
#include <cstdint>
#include <optional>

namespace commsched {

/// Value of `expr` with d0 = `rank`, d1 = `round`. Nothing if it overflows,
/// divides by less than 1, or uses other dimensions or symbols.
std::optional<int64_t> evaluate(mlir::AffineExpr expr, int64_t rank,
                                int64_t round);

/// True if (`rank`, `round`) lies in `set`; nothing as for evaluate().
std::optional<bool> contains(mlir::IntegerSet set, int64_t rank,
                             int64_t round);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_AFFINEEVAL_H
