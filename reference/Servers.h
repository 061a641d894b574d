// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step of a parameter server (docs/parameter-server.md): each op is evaluated as
// soon as all trainers have sent what it depends on.

#ifndef COMMSCHED_REFERENCE_SERVERS_H
#define COMMSCHED_REFERENCE_SERVERS_H

#include "reference/Interpreter.h"
#include "reference/Messages.h"

namespace commsched::reference {

class ServerStep {
public:
  /// A step of `function` with `trainers` trainers. `arguments`: one for each.
  ServerStep(mlir::func::FuncOp function, Interpreter &interpreter, int64_t trainers,
             llvm::ArrayRef<ArrayPtr> arguments);

  /// Evaluates what can be: takes the messages that it uses.
  llvm::LogicalResult advance(Messages &messages);
  /// What is published under `key`: null if nobody publishes that, or not yet.
  ArrayPtr published(llvm::StringRef key) const;
  /// The block `key` of a table as it was before the step; null if it is not here.
  ArrayPtr table(llvm::StringRef key) const;
  /// The results; null if something has not been sent, and then `waiting` is the op
  /// that waits for it.
  std::optional<llvm::SmallVector<ArrayPtr>> results(mlir::Operation *&waiting) const;

private:
  llvm::FailureOr<bool> evaluate(mlir::Operation &op, Messages &messages);
  llvm::LogicalResult updateRows(mlir::Operation &op,
                                 const std::map<int64_t, Message> &messages);

  mutable mlir::func::FuncOp function; // a handle
  Interpreter &interpreter;
  int64_t trainers;
  llvm::DenseMap<mlir::Value, ArrayPtr> values;
  llvm::DenseSet<mlir::Operation *> done;
};

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_SERVERS_H
