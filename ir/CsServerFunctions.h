// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of parameter servers (docs/parameter-server.md): which one a
// message is for, and what its ops wait for.

#ifndef COMMSCHED_IR_CSSERVERFUNCTIONS_H
#define COMMSCHED_IR_CSSERVERFUNCTIONS_H

#include "ir/Cs.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace commsched::cs {

/// Index of the server that runs `function`, if it is one's.
std::optional<int64_t> getServerIndex(mlir::Operation *function);

/// The server's function that a cs.send or cs.recv names as its peer's role;
/// null if it names none, or another function. Who asks of many messages gives
/// `symbols`, which must know the module as it is: without them the functions are
/// searched.
mlir::FunctionOpInterface getServerOf(mlir::Operation *message,
                                      mlir::SymbolTableCollection *symbols = nullptr);

/// The key of block `block` of `blocks` of the table that messages call `key`.
std::string getBlockKey(llvm::StringRef key, size_t block, size_t blocks);

/// The key under which a server hands out what it makes of the gradient `key`.
std::string getNewKey(llvm::StringRef key);

/// What the ops of one server's function wait for.
class ServerDependences {
public:
  /// `function` has one block.
  explicit ServerDependences(mlir::FunctionOpInterface function);

  using Collects = llvm::SmallVector<CollectOp, 1>;
  /// The collects that `op` depends on, itself included, in program order.
  const Collects &of(mlir::Operation *op) const;
  /// The same for what defines `value`; none for an argument.
  const Collects &of(mlir::Value value) const;
  /// The cs.update_rows that `op` depends on, itself included; of several the
  /// first.
  UpdateRowsOp updateOf(mlir::Operation *op) const { return updates.lookup(op); }

private:
  llvm::DenseMap<mlir::Operation *, Collects> collects;
  llvm::DenseMap<mlir::Operation *, UpdateRowsOp> updates;
  Collects none;
};

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSSERVERFUNCTIONS_H
