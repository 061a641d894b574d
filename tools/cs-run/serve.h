// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process of a plan with parameter servers: a server, or a trainer's
// connections to them.
#ifndef COMMSCHED_TOOLS_CS_RUN_SERVE_H
#define COMMSCHED_TOOLS_CS_RUN_SERVE_H

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/measure/profile.h"
#include "runtime/measure/trace.h"
#include "runtime/session/session.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Whether the options fit to the servers that the plan has.
absl::Status CheckServers(const Options &options, const runtime::PlanImage &image);

// Whether the plan has the process that --rank or --index names.
absl::Status CheckNumber(const Options &options, const runtime::PlanImage &image);

// For Session::OneRank. `run_digest` must be the same of all trainers.
runtime::ConnectServersFunction ServersConnector(
    const Options &options, const runtime::PlanImage &image, uint64_t run_digest);

// Serves until all trainers have finished and gone, or the job has failed. Where it does not `fit`, it is
// there to say why.
// `started` is called with what ends it, from any thread, before any trainer is
// accepted; `trace` and `profile` may be null.
absl::Status Serve(
    const Options &options, const absl::Status &fit, std::shared_ptr<const runtime::PlanImage> image,
    runtime::TraceRecorder *trace, runtime::ProfileRecorder *profile,
    const std::function<void(std::function<void(const absl::Status &)>)> &started);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_SERVE_H
