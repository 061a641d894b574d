// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-run as the rank of a job that a launcher has started (launch/).
#ifndef COMMSCHED_TOOLS_CS_RUN_LAUNCH_H
#define COMMSCHED_TOOLS_CS_RUN_LAUNCH_H

#include "absl/status/status.h"
#include "launch/environment.h"
#include "runtime/loading/plan_loader.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Completes `options` of a process that was not told where it runs: its rank, the
// transport and, for gRPC, the addresses of all ranks, for which it waits for
// them. Changes nothing if the options say it, or nothing was launched.
absl::Status ApplyLaunch(const runtime::PlanImage &image,
                         const launch::Environment &environment, Options *options);

// What is left to do needs no other process and may take long: those that wait for this one where MPI ends hear that.
void SignLaunch(const Options &options);

// At the end of Main, with its exit status; returns the status to end with. A job
// of MPI that has ended in `good` order, which a signal may have asked for, is ended
// together.
int EndLaunch(const Options &options, int status, bool good);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_LAUNCH_H
