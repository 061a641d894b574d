// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folder of checkpoints of a job with parameter servers as processes, before it
// begins and after it has ended.
#ifndef COMMSCHED_TOOLS_CS_RUN_JOB_CHECKPOINTS_H
#define COMMSCHED_TOOLS_CS_RUN_JOB_CHECKPOINTS_H

#include "absl/status/status.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/servers/parameter_server.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// The folder is made, if it is to be, and can be written to. A new job does not mix
// its checkpoints with those of another one.
absl::Status CheckJobCheckpoints(const Options &options, const runtime::PlanImage &image);

// Of all processes, before any is started: what of the folder the job does not go on
// from is removed; `resume_job` is set if there is something to go on from.
absl::Status PrepareJobCheckpoints(const runtime::PlanImage &image, Options *job);
// When all have ended.
void TidyJobCheckpoints(const Options &options, const runtime::PlanImage &image);

// Gives a server its values: from a checkpoint, if one is named, else the initial
// ones.
absl::Status SetServerValues(const Options &options, const runtime::PlanImage &image,
                             runtime::ParameterServer *server);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_JOB_CHECKPOINTS_H
