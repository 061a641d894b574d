// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter servers of a module as roles of a plan.

#ifndef COMMSCHED_PASSES_PLAN_PLANSERVERS_H
#define COMMSCHED_PASSES_PLAN_PLANSERVERS_H

#include "passes/plan/PlanBuilder.h"
#include "passes/plan/SplitServer.h"

#include <vector>

namespace commsched::planexport {

/// Cuts the functions of servers, in the order of their indices, and tells
/// `context` which keys trainers push and pull. Empty if `module` has none.
mlir::FailureOr<std::vector<ServerProgram>> findServers(mlir::ModuleOp module,
                                                        PlanContext &context);

/// Adds the servers' slots, functions, roles and ParameterServers to the plan,
/// which has all that is the trainers', their role included.
mlir::LogicalResult buildServers(cs::ServersAttr attribute,
                                 std::vector<ServerProgram> &servers,
                                 PlanContext &context);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_PLANSERVERS_H
