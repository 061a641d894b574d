// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule that a module of level 2 says, as one of the scheduling problem of the
// module of level 1 that it was made from. Only the two modules are looked at, nothing
// of what --schedule-comm thought: what it wrote is what runs.

#ifndef COMMSCHED_BENCH_APPLIEDSCHEDULE_H
#define COMMSCHED_BENCH_APPLIEDSCHEDULE_H

#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// `problem` is that of the step `before` --schedule-comm; `after` is the same step behind
/// it. Messages are in the order of their cs.start, by which the
/// runtime serves those of equal priority. Fails with an error at what is not
/// understood, or is no schedule of the problem.
mlir::FailureOr<schedule::Schedule>
readAppliedSchedule(const StepCommunications &before, const StepProblem &problem,
                    mlir::func::FuncOp after);

/// The same problem if blocks of servers could be cut, and those of one server share
/// messages, as its name says nothing of what servers store.
schedule::Problem withFreeBlocks(const StepProblem &problem);

}  // namespace commsched

#endif  // COMMSCHED_BENCH_APPLIEDSCHEDULE_H
