// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SCHEDULE_MOVEFRAGMENTS_H
#define COMMSCHED_PASSES_SCHEDULE_MOVEFRAGMENTS_H

#include "passes/schedule/StepProblem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// Puts the fragments of each device into the order of the schedule; what is deferred
/// for the next step stays behind. Communication comes directly behind what it sends;
/// other ops keep their order as far as that of the fragments allows. Requires that
/// verify() finds nothing.
enum class Moved {
  nothing,
  some,
  impossible
};
Moved moveFragments(const StepCommunications &communications,
                    const StepProblem &step, const schedule::Schedule &schedule);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_MOVEFRAGMENTS_H
