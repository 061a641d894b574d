// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_WAYS_H
#define COMMSCHED_TOOLS_CS_RUN_WAYS_H

#include "absl/status/status.h"
#include "runtime/loading/plan_loader.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// What a process of cs-run does. Each option has a row in the table of ways.cc, which says in which of these ways it is
// of use; in the others it is refused. What depends on the plan too is checked when it is there (CheckPlanUses).
enum Way : unsigned {
  kTrain = 1,       // as threads, processes or one rank
  kServe = 2,       // --role server
  kCalibrate = 4,   // --calibrate
  kSimulate = 8,    // --simulate
  kCheck = 16,      // --check-against
  kShow = 32,       // --measured: a page of a trace that is there
  kArenaInfo = 64,  // --arena-info
};

Way WayOf(const Options &options);

// An error if one of the options that were given is not of this way of running, or of one that was not given.
absl::Status CheckWay(const Options &options);

// An error if `image` has no use for one of the options: of where it runs, once that is known, too.
absl::Status CheckPlanUses(const Options &options, const runtime::PlanImage &image);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_WAYS_H
