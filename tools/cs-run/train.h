// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_TRAIN_H
#define COMMSCHED_TOOLS_CS_RUN_TRAIN_H

#include <functional>

#include "absl/status/status.h"
#include "runtime/session/session.h"
#include "runtime/session/stop_point.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Gives a session the values that the options name: those of --init, those of @init
// for the others. In emulation there may be none.
absl::Status InitialValues(const Options &options, runtime::Session *session);

// Initial values or resume, calls, training, evaluation, checkpoints and
// reports, as the options say. Ends early, in good order, where `stop` says. `needs_nobody`, which may be null, is
// called when what is left needs no other rank, and is needed by none.
absl::Status Train(const Options &options, runtime::Session *session,
                   runtime::StopPoint *stop, std::function<void()> needs_nobody);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_TRAIN_H
