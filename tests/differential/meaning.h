// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program means in a mode, by the reference interpreter.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_MEANING_H
#define COMMSCHED_TESTS_DIFFERENTIAL_MEANING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "reference/Steps.h"
#include "tests/differential/modes.h"

namespace commsched::differential {

class Meaning {
public:
  // `program`: level 0. Its step is changed so that it says what the mode does to it.
  Meaning(mlir::OwningOpRef<mlir::ModuleOp> program, mlir::func::FuncOp step, const Mode &mode);

  // Which elements travel, level 0 does not say: then it is what `module` means, of
  // level 1, where they are selected.
  void setSelected(mlir::OwningOpRef<mlir::ModuleOp> module);

  mlir::func::FuncOp function() const { return meant; }

  // What step `index` makes, with what `slots` has before it.
  llvm::FailureOr<reference::StepResult> step(size_t index, const reference::NamedArrays &slots,
                                              llvm::ArrayRef<reference::NamedArrays> batches);

private:
  mlir::OwningOpRef<mlir::ModuleOp> program, selected;
  mlir::func::FuncOp meant;
  Mode mode;
  int64_t parts = 1; // of a node, by `selected`
  reference::Interpreter interpreter;
  reference::NamedArrays ownSlots; // of single ranks, behind the step before
};

// How many parts of a batch a node gets for the step.
int64_t batchParts(mlir::ModuleOp module);
// The first `part` of `of` equal parts.
reference::ArrayPtr firstPart(const reference::Array &batch, int64_t part, int64_t of);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_MEANING_H
