// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks of --schedule-comm: for each tensor how it is sent and why, and what the
// step is predicted to take (--remarks-filter=schedule-comm).

#ifndef COMMSCHED_PASSES_SCHEDULE_SCHEDULEREMARKS_H
#define COMMSCHED_PASSES_SCHEDULE_SCHEDULEREMARKS_H

#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Solve.h"

namespace commsched {

/// Of a communication with this priority, and nothing else to tell.
void remarkPriority(mlir::Operation *communication, mlir::func::FuncOp func,
                    const Need &need, int64_t priority);

/// Why there is no schedule, only priorities.
void remarkFallback(mlir::func::FuncOp func, llvm::StringRef why);

/// Of the step, then of each communication. `solution` is what was applied.
void remarkSchedule(const StepProblem &step, const StepCommunications &communications,
                    const schedule::Solution &solution, llvm::StringRef policy,
                    llvm::StringRef boundAssumes);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_SCHEDULEREMARKS_H
