// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_RUN_DIGEST_H
#define COMMSCHED_TOOLS_CS_RUN_RUN_DIGEST_H

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/loading/plan_loader.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// A number of what must be the same on all ranks of a job, besides the plan, so that
// they do not train apart: initial values (or the checkpoint), names, types and shapes
// of the data, its order, and what is called how often. With parameter servers, whose
// values count and of which a trainer may have fewer batches, only the data. 0 where one
// command line is that of all.
absl::StatusOr<uint64_t> RunDigest(const Options &options, const runtime::PlanImage &image);

// Whether servers have refused a trainer for what it trains with.
bool HasOtherData(const absl::Status &refused);

// The error of a rank that others refuse, or that refuses them, with what may differ.
absl::Status WithWhatMustMatch(const absl::Status &status);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_RUN_DIGEST_H
