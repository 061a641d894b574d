// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_INSERT_SERVERFUNCTIONS_H
#define COMMSCHED_PASSES_INSERT_SERVERFUNCTIONS_H

#include "passes/insert/PlanServers.h"

namespace commsched {

/// Adds the function of each parameter server (docs/parameter-server.md, "A
/// server at level 1") behind the step, which stays as it is: its ops are
/// copied.
mlir::LogicalResult addServerFunctions(const UpdateAnalysis &analysis,
                                       const ServerPlan &plan,
                                       const ServerOptions &options);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_SERVERFUNCTIONS_H
