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
  std::string partOf; ///< "w"; empty: a value from the schedule to blocks
  int64_t rowBegin = 0;
  bool isParam = false;
  mlir::RankedTensorType type;
  mlir::Operation *op = nullptr; ///< for errors
};

struct ServerBlockFunction {
  cs::CollectOp collect;
  cs::PublishOp publish;
  mlir::func::FuncOp function; ///< "server.0/w.block0"
  std::string slot;            ///< name of the one that is published
};

/// The functions have the form of a trainer's at level 2, with the names of
/// slots in cs.param, cs.state and cs.updates, and the key of the collect in
/// cs.batch. They keep their cs.server.
struct ServerProgram {
  int64_t index = 0;
  mlir::func::FuncOp source;
  std::vector<ServerSlot> slots;
  mlir::func::FuncOp schedule; ///< "server.0/schedule"; null if there is none
  std::vector<ServerBlockFunction> blocks; ///< in the order of the collects
  mlir::OwningOpRef<mlir::ModuleOp> functions; ///< owns them
};

/// Errors, at the op: what depends on several collects; a state that is read
/// apart from where it is updated; a publish of anything but a new value.
mlir::FailureOr<ServerProgram> splitServer(mlir::func::FuncOp server);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_SPLITSERVER_H
