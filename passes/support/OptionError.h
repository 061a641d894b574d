// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is wrong with an option of a pass is not at any place of the program.

#ifndef COMMSCHED_PASSES_SUPPORT_OPTIONERROR_H
#define COMMSCHED_PASSES_SUPPORT_OPTIONERROR_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Pass/Pass.h"

namespace commsched {

/// An error that is one line: "PASS: ", without a place. `context`: of the module.
inline mlir::InFlightDiagnostic emitOptionError(const mlir::Pass &pass,
                                                mlir::MLIRContext *context) {
  return mlir::emitError(mlir::UnknownLoc::get(context)) << pass.getArgument() << ": ";
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_OPTIONERROR_H
