// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row-sparse gradients (docs/row-sparse.md): the updates of tables, which only
// parameter servers hold.

#ifndef COMMSCHED_PASSES_INSERT_ROWSPARSE_H
#define COMMSCHED_PASSES_INSERT_ROWSPARSE_H

#include "llvm/ADT/StringRef.h"

#include "passes/insert/PlanServers.h"
#include "passes/insert/Program.h"
#include "passes/insert/UpdateFragment.h"

namespace commsched {

/// Refuses updates of tables that cannot be applied to some rows by themselves.
mlir::LogicalResult checkTables(const UpdateAnalysis &analysis);

/// After the step has been reduced to a trainer's: refuses tables that it reads
/// otherwise than by the cs.lookup.
mlir::LogicalResult checkTrainersTables(const ProgramFunction &step);

/// Takes the tables out of the arguments and results of the step, at level 1.
void dropTables(ProgramFunction &step);

/// Rows that a server updates at a time, of a block of `rows` rows of a table of
/// `type`: about 64 KiB of the table.
int64_t chunkOf(mlir::RankedTensorType type, int64_t rows);

/// What a server does with the rows of one block.
struct RowUpdate {
  llvm::StringRef key;
  cs::ReductionAttr reduction;
  llvm::StringRef role;
  mlir::Location loc;
  int64_t chunk;
  mlir::Value gradient; ///< level 0: result of the cs.gradient
  /// Level 0: arguments of the step with the table's rows, the table first; and
  /// what they become: results of `fragment`, the gradient, or arguments.
  llvm::SmallVector<mlir::Value> arguments, results;
  /// By argument: its placed rows of the block.
  llvm::SmallVector<mlir::Value> rows;
};

/// Makes the cs.update_rows. `fragment` (null: nothing is computed) has been built
/// for rows [0, chunk) with the roots `made`; `resolve` gives the placed value of
/// an input of it that is needed as a whole.
cs::UpdateRowsOp createUpdateRows(
    mlir::OpBuilder &builder, const RowUpdate &update, UpdateFragment *fragment,
    llvm::ArrayRef<mlir::Value> made,
    llvm::function_ref<mlir::Value(const PartOfValue &)> resolve);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_ROWSPARSE_H
