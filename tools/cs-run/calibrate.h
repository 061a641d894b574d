// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_CALIBRATE_H
#define COMMSCHED_TOOLS_CS_RUN_CALIBRATE_H

#include <memory>

#include "absl/status/status.h"
#include "runtime/loading/plan_loader.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Measures the links of the plan's cluster and the slowdown of compute while they
// are busy, instead of training. Rank 0 prints a table and writes the file;
// docs/costs.md has its form.
absl::Status Calibrate(const Options &options,
                       std::shared_ptr<const runtime::PlanImage> image);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_CALIBRATE_H
