// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that act row by row: row i of the results depends on row i of some
// operands and on the whole of the others, for all rows of dimension 0. Such an
// op can be applied to a block of rows.

#ifndef COMMSCHED_PASSES_SUPPORT_ROWWISE_H
#define COMMSCHED_PASSES_SUPPORT_ROWWISE_H

#include <optional>

#include "mlir/IR/Builders.h"

namespace commsched {

/// By operand of `op`: whether it is needed row by row, else as a whole. What
/// ops nested in it capture is needed as a whole. Nothing if the op does not
/// act row by row, or has no results with rows.
std::optional<llvm::SmallVector<bool>> rowOperands(mlir::Operation *op);

/// A copy of `op`, which acts row by row, for a block of `rows` rows.
/// `operands` are those of the copy, of which the ones needed row by row have
/// that many rows; `captures` maps what nested ops use of the outside.
mlir::Operation *cloneForRows(mlir::OpBuilder &builder, mlir::Operation *op,
                              mlir::ValueRange operands,
                              mlir::IRMapping &captures, int64_t rows);

/// Rows [begin, end) of `from`.
mlir::Value cutRows(mlir::OpBuilder &builder, mlir::Value from, int64_t begin, int64_t end);

/// `type` with `rows` rows of dimension 0.
mlir::RankedTensorType withRows(mlir::RankedTensorType type, int64_t rows);

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_ROWWISE_H
