// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter servers of a plan. Used by the plan loader.
#ifndef COMMSCHED_RUNTIME_LOADING_PLAN_SERVERS_H
#define COMMSCHED_RUNTIME_LOADING_PLAN_SERVERS_H

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/program/server_program.h"

namespace commsched::runtime {

// Server `index`, whose role is one of the plan's; functions are not resolved. Adds the
// keys of its blocks to `keys`, which must not have them. Errors name the block.
absl::StatusOr<ServerProgram> ReadServer(const plan::Plan &plan, int index,
                                         std::set<std::string> *keys);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_PLAN_SERVERS_H
