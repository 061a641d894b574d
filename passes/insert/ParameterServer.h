// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --insert-dist-comm=mode=parameter-server.

#ifndef COMMSCHED_PASSES_INSERT_PARAMETERSERVER_H
#define COMMSCHED_PASSES_INSERT_PARAMETERSERVER_H

#include <memory>

#include "passes/insert/PlanServers.h"
#include "passes/insert/Program.h"

namespace commsched {

class GradientExchange;

/// Splits the step of `program` into the functions of the servers, which it
/// adds, and the function of a trainer, still at level 0: it returns the
/// exchanged gradient as the new value of its parameter, and has no argument
/// and no result for state that only servers have. Says how gradients are to
/// travel; null without a step.
mlir::FailureOr<std::unique_ptr<GradientExchange>>
splitStep(Program &program, const ServerOptions &options);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PARAMETERSERVER_H
