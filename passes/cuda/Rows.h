// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured ops that follow each other on the rows of one matrix, as one kernel with a warp for each row:
// softmax, layer norm and their gradients. What one op writes and another reads of the same row is in registers, and
// is in memory only if others read it.

#ifndef COMMSCHED_PASSES_CUDA_ROWS_H
#define COMMSCHED_PASSES_CUDA_ROWS_H

#include "passes/cuda/Stages.h"

namespace commsched::cudaexport {

/// On the region of such ops: rows and columns.
inline constexpr llvm::StringLiteral kRowsAttr = "fragment_rows";

/// What an op is on a matrix of so many rows and columns, and its loops in the order in which they are counted.
struct RowRole {
  enum class Kind {
    None,
    Elements, ///< an element of each of the matrix
    Rows,     ///< one of each row
    Sums      ///< one of each row, by a reduction of the row by the lanes of a warp (NestShape.h)
  };
  Kind kind = Kind::None;
  llvm::SmallVector<unsigned> rows, columns;
};
RowRole roleOf(mlir::linalg::GenericOp op, int64_t rows, int64_t columns);

/// Whether the operand's element of a row and a column is that of its memory at row * columns + column (Elements), or at
/// row (Rows), and its memory has no others. None: neither.
RowRole::Kind placeOf(mlir::linalg::GenericOp op, mlir::OpOperand &operand, const RowRole &role, int64_t rows,
                      int64_t columns);

/// Puts the ops of a fragment that may be one kernel into regions with kRowsAttr, with the memory that only they use. To
/// be called before temporaries have their places.
void groupRows(mlir::func::FuncOp fragment);

/// Of a nest with such a region.
NestKernels lowerRows(mlir::func::FuncOp nest);

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_ROWS_H
