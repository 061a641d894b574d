// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of servers of which trainers push and pull single rows. Used by the
// plan loader.
#ifndef COMMSCHED_RUNTIME_LOADING_PLAN_ROWS_H
#define COMMSCHED_RUNTIME_LOADING_PLAN_ROWS_H

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "plan/plan.pb.h"
#include "runtime/program/program.h"
#include "runtime/program/server_program.h"

namespace commsched::runtime {

// Checks `block`, whose row_chunk is not 0 and whose indices are those of `role`,
// and fills `out` but for indices in the function's program. `slots` are those
// of the server's earlier blocks of rows; this block's are added. Errors begin
// with `where`.
absl::Status ReadRowBlock(const plan::Plan &plan, const plan::Role &role,
                          const plan::ServerBlock &block,
                          const std::string &where, std::set<uint32_t> *slots,
                          BlockProgram *out);

// That no function of `role` has a buffer in one of `slots`, which are held once
// and change between calls.
absl::Status CheckRowSlots(const plan::Plan &plan, const plan::Role &role,
                           const std::set<uint32_t> &slots,
                           const std::string &where);

// The indices that ReadRowBlock leaves out.
void ResolveRowBlock(const FunctionProgram &function, RowBlockProgram *block);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_PLAN_ROWS_H
