// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a training, interpreted: slots that are carried, a batch for each step.

#ifndef COMMSCHED_REFERENCE_STEPS_H
#define COMMSCHED_REFERENCE_STEPS_H

#include "reference/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>

namespace commsched::reference {

/// By name, in the order of names.
using NamedArrays = std::map<std::string, ArrayPtr>;

struct StepResult {
  /// Parameters and state after the step, and metrics averaged over the workers.
  NamedArrays slots, metrics;
};

/// The function with cs.step; an error at the module if there is not exactly one.
llvm::FailureOr<mlir::func::FuncOp> findStep(mlir::ModuleOp module);

/// Runs one step of `step`, of level 0, on `workers` workers. `slots` has every
/// parameter and state; `batch` every batch argument, of all workers: dimension 0 is
/// `workers` times that of the argument, and worker r gets the r-th part. State of floats
/// that depends on the batch (running statistics) becomes the mean over the workers;
/// another slot whose new value is not the same on all workers is an error, as are
/// cs.density and cs.row_sparse, which change what a step means (`ignoreSparse` leaves
/// them aside: every element of a gradient travels).
llvm::FailureOr<StepResult> runStep(Interpreter &interpreter, mlir::func::FuncOp step,
                                    const NamedArrays &slots, const NamedArrays &batch,
                                    int64_t workers, bool ignoreSparse = false);

/// runStep() for each of `batches`, each with the slots of the one before.
llvm::FailureOr<std::vector<StepResult>>
runSteps(mlir::func::FuncOp step, NamedArrays slots, llvm::ArrayRef<NamedArrays> batches,
         int64_t workers, bool ignoreSparse = false);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_STEPS_H
