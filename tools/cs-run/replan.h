// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_REPLAN_H
#define COMMSCHED_TOOLS_CS_RUN_REPLAN_H

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/replanning/replanner.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Whether the options of re-planning go with each other and with the rest.
absl::Status CheckReplan(const Options &options);
// And with the plan.
absl::Status CheckReplan(const Options &options, const runtime::PlanImage &image);

// Whether the plan may change in the run: --replan or --tune.
inline bool Replans(const Options &options) { return !options.replan.empty() || !options.tune.empty(); }

// As the options say, of such a run. Rank 0 prints what happens, and writes it to the folder, if
// one is given: events.json, an object on each line. `kept` becomes true once --tune has chosen.
absl::StatusOr<runtime::ReplanOptions> ReplanOptionsOf(const Options &options, std::shared_ptr<std::atomic<bool>> kept);
// Of a run that has ended before.
void WarnOfNoneKept(const Options &options);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_REPLAN_H
