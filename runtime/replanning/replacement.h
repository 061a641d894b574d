// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a plan may take the place of another one in a run.
#ifndef COMMSCHED_RUNTIME_REPLANNING_REPLACEMENT_H
#define COMMSCHED_RUNTIME_REPLANNING_REPLACEMENT_H

#include "absl/status/status.h"
#include "runtime/loading/plan_loader.h"

namespace commsched::runtime {

// OK if `next` is the same program as `now` for the same ranks, in another
// schedule: the same module, nodes and devices; the same parameters and state,
// cut alike; the same functions with the same batches, metrics, fragments and
// code, which reduce the same number of elements in the same way; the same parameter
// servers with the same blocks. Else kFailedPrecondition saying what differs.
absl::Status CheckReplacement(const PlanImage &now, const PlanImage &next);

// Whether a run of this plan can change to another.
absl::Status CheckReplaceable(const PlanImage &now);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_REPLACEMENT_H
