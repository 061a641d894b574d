// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_INSERT_PROFILED_H
#define COMMSCHED_PASSES_INSERT_PROFILED_H

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace commsched {

/// Takes the body from every fragment of cs.profiled ops and gives it the sum
/// of their costs. Of constants that they use nothing remains. Where some are
/// measured and others not, the time of the others is estimated from the rates
/// of the module's cluster. A fragment that also computes something gets a
/// diagnostic: only half of its values would be there.
llvm::LogicalResult dropProfiledBodies(mlir::ModuleOp module);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PROFILED_H
