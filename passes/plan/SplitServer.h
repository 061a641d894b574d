// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server's function, cut into what runs apart: the schedule, and
// the update of each block.

#ifndef COMMSCHED_PASSES_PLAN_SPLITSERVER_H
#define COMMSCHED_PASSES_PLAN_SPLITSERVER_H

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace commsched::planexport {

/// Something that a server keeps from step to step.
struct ServerSlot {
  std::string name;   ///< "server.0/w[0:500]"
  std::string partOf; ///< "w"; empty: nothing that files name
  int64_t rowBegin = 0;
  bool isParam = false;
  mlir::RankedTensorType type;
  mlir::Operation *op = nullptr; ///< for errors
};

struct ServerBlockFunction {
  cs::CollectOp collect; ///< null for a block of a table
  cs::PublishOp publish;
  /// "server.0/w.block0"; of blocks that are updated together it is one, named
  /// after the first, with the collects in cs.batch in their order.
  mlir::func::FuncOp function;
  /// Names of those that are published, one behind the other.
  llvm::SmallVector<std::string, 1> slots;
  /// Of a block of a table, else null. The function then updates rows: its
  /// cs.batch are the gradient and, named as their slots, all that has the
  /// table's rows; its cs.metric are, so named, their new values.
  cs::UpdateRowsOp update = {};

  mlir::Operation *op() { return update ? update.getOperation() : collect.getOperation(); }
  llvm::StringRef key() { return update ? update.getKey() : collect.getKey(); }
  std::optional<cs::Reduction> reduction() {
    return update ? update.getReduction() : collect.getReduction();
  }
};

/// The functions have the form of a trainer's at level 2, with the names of
/// slots in cs.param, cs.state and cs.updates, and the key of the collect in
/// cs.batch. They keep their cs.server.
struct ServerProgram {
  int64_t index = 0;
  mlir::func::FuncOp source;
  std::vector<ServerSlot> slots;
  mlir::func::FuncOp schedule;                 ///< "server.0/schedule"; null if there is none
  std::vector<ServerBlockFunction> blocks;     ///< in the order of their messages
  mlir::OwningOpRef<mlir::ModuleOp> functions; ///< owns them
};

/// What depends on several collects is one function, and so is what reads a
/// state that another updates. What is published and no new value of a state
/// (the mean of a metric) has a slot of its own, which no file names.
///
/// Errors, at the op: updates that are joined in an asynchronous mode; another
/// number of publishes than of collects.
mlir::FailureOr<ServerProgram> splitServer(mlir::func::FuncOp server);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_SPLITSERVER_H
