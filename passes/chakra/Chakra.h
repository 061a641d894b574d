// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution traces of MLCommons Chakra, the input of simulators such as ASTRA-sim:
// docs/report.md says what becomes of what.

#ifndef COMMSCHED_PASSES_CHAKRA_CHAKRA_H
#define COMMSCHED_PASSES_CHAKRA_CHAKRA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/chakra/TraceFile.h"

namespace commsched {

/// The step of a module of level 1, or of level 2 before --expand-collectives, as the
/// nodes of one rank: all ranks have the same. Fails with an error at an op that a
/// trace has nothing for.
mlir::LogicalResult exportChakra(mlir::ModuleOp module, chakra::Trace &trace);

/// A level-0 program with the compute of a trace, and a parameter for each
/// all-reduce. Null after an error at `location`.
mlir::OwningOpRef<mlir::ModuleOp> importChakra(mlir::MLIRContext *context,
                                               mlir::Location location,
                                               const chakra::Trace &trace);

/// Registers --mlir-to-chakra and --chakra-to-mlir with cs-translate.
void registerChakraTranslations();

} // namespace commsched

#endif // COMMSCHED_PASSES_CHAKRA_CHAKRA_H
