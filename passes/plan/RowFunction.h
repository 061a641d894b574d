// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of a plan that updates some rows of a table.

#ifndef COMMSCHED_PASSES_PLAN_ROWFUNCTION_H
#define COMMSCHED_PASSES_PLAN_ROWFUNCTION_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace commsched::planexport {

/// What the operands and results of a cs.update_rows are.
struct RowFunction {
  struct Other {
    std::string slot;
    bool isParam = false;
  };
  std::vector<std::string> rows; ///< slot of each operand that has the table's rows
  std::vector<Other> others;     ///< of each of its other operands
  std::vector<unsigned> changed; ///< results that are new values
};

/// Appends it to `module`: its cs.batch are the gradient, named as the key, and all
/// rows, named as their slots; its cs.metric the new values, so named.
mlir::func::FuncOp buildRowFunction(mlir::Block *module, cs::UpdateRowsOp update,
                                    llvm::StringRef name,
                                    const RowFunction &parts);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_ROWFUNCTION_H
