// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for a cluster, values for them, and their steps at any level.

#ifndef COMMSCHED_TESTS_REFERENCE_RANKS_TRAINING_H
#define COMMSCHED_TESTS_REFERENCE_RANKS_TRAINING_H

#include "reference/Ranks.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <string>

namespace commsched::reference::training {

/// The program of a file of the repository, for so many nodes of so many devices; null
/// and a failure of the test if there is none.
mlir::OwningOpRef<mlir::ModuleOp> parseFor(mlir::MLIRContext &context,
                                           const std::string &path, int64_t nodes,
                                           int64_t devices = 1);

/// Runs a pipeline as one writes it for cs-opt: "insert-dist-comm,schedule-comm".
/// Whether that worked.
bool lower(mlir::ModuleOp module, const std::string &pipeline);

/// Numbers that integers of an argument are below, by its name; others are 0.
using Ranges = std::map<std::string, int64_t>;

struct Data {
  NamedArrays slots;
  std::vector<NamedArrays> batches;
};
/// Values between -1 and 1 for the parameters of a step of one device, zero or positive
/// small ones for its state, and batches of all workers; the same for one seed.
Data makeData(mlir::func::FuncOp step, int64_t workers, int64_t steps,
              const Ranges &ranges = {}, unsigned seed = 1);

/// What is left of `found` where `wanted` says nothing: it is asserted that all slots
/// and metrics of `wanted` are there, and within their bounds. Returns the part of the
/// elements that was not determined.
double expectWithin(const std::vector<StepResult> &found,
                    const std::vector<StepResult> &wanted);
/// The same numbers, to the bit.
void expectEqual(const std::vector<StepResult> &found, const std::vector<StepResult> &wanted);
/// Elements of the last step's slots that lie outside the bounds of `wanted`.
int64_t countOutside(const StepResult &found, const StepResult &wanted);

} // namespace commsched::reference::training

#endif // COMMSCHED_TESTS_REFERENCE_RANKS_TRAINING_H
