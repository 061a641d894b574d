// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of a plan that a server's function is cut into.

#ifndef COMMSCHED_PASSES_PLAN_SERVERPARTS_H
#define COMMSCHED_PASSES_PLAN_SERVERPARTS_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <string>
#include <vector>

namespace commsched::planexport {

/// What the parts of a server's function have to do with each other.
struct ServerParts {
  static constexpr int kSchedule = -1; ///< a part; else the index of its first block

  struct Result {
    mlir::Value value;
    std::string slot;
    int part;
  };

  mlir::func::FuncOp server;
  llvm::DenseMap<mlir::Value, std::string> slotOf;      ///< of an argument
  std::vector<Result> results;                          ///< that change something
  llvm::DenseMap<int, std::vector<unsigned>> resultsOf; ///< of a part: which of them
  llvm::DenseSet<mlir::Value> changed;                  ///< the values of all of them
  llvm::MapVector<mlir::Value, std::string> passed;     ///< schedule to blocks: slot
};

/// Appends the function of a part, which does `ops` with `messages`, to `module`.
mlir::func::FuncOp buildServerPart(mlir::Block *module, const ServerParts &parts, int part,
                                   llvm::ArrayRef<mlir::Operation *> ops,
                                   llvm::MutableArrayRef<cs::CollectOp> messages,
                                   llvm::StringRef name);

/// The same of the update of some rows.
mlir::func::FuncOp buildRowsPart(mlir::Block *module, const ServerParts &parts,
                                 cs::UpdateRowsOp update, llvm::StringRef name);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_SERVERPARTS_H
