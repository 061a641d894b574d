// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A level-0 program as --insert-dist-comm sees it: the roles of arguments and
// results, checked.

#ifndef COMMSCHED_PASSES_INSERT_PROGRAM_H
#define COMMSCHED_PASSES_INSERT_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "ir/Cs.h"

namespace commsched {

struct ArgumentRole {
  enum Kind {
    Param,
    State,
    Batch,
    WorkerIndex
  } kind;
  mlir::StringAttr name; // empty: WorkerIndex
  bool isCarried() const { return kind == Param || kind == State; }
};

struct ResultRole {
  enum Kind {
    Updates,
    Metric
  } kind;
  mlir::StringAttr name;
};

struct ProgramFunction {
  mutable mlir::func::FuncOp func; // a handle; its constness says nothing
  bool isStep = false;
  llvm::SmallVector<ArgumentRole> arguments;
  llvm::SmallVector<ResultRole> results;
};

struct Program {
  /// In module order; at most one is the step.
  llvm::SmallVector<ProgramFunction> functions;
};

/// Whether a value of this type can live on a device: a ranked tensor without
/// encoding, of static shape and supported element type. Says why not.
llvm::StringRef whyNotPlaceable(mlir::Type type);

/// Whether `func` has ops of level 0, such as cs.gradient.
bool hasMarks(mlir::func::FuncOp func);
/// Whether `func` has attributes of cs: where it is public, it is one of the program.
bool hasRoles(mlir::func::FuncOp func);

/// Reads and checks the public functions with `cs` attributes. Bad programs
/// get a diagnostic at the offending op. Every cs.worker_index in them becomes
/// one argument, the last.
mlir::FailureOr<Program> readProgram(mlir::ModuleOp module);

/// Makes sure that the module has exactly one cluster: the one in `file` if
/// that is not empty, else its own, else a default. Checks it against the batch
/// size of the step.
mlir::LogicalResult settleCluster(mlir::ModuleOp module, llvm::StringRef file,
                                  const Program &program);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PROGRAM_H
