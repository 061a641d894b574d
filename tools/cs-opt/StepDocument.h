// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_TOOLS_CS_OPT_STEPDOCUMENT_H
#define COMMSCHED_TOOLS_CS_OPT_STEPDOCUMENT_H

#include "passes/schedule/ScheduledSteps.h"
#include "report/Document.h"

namespace commsched {

/// A scheduled step as a report: its predicted timeline with the reasons for exposed
/// communication, the published policies on the same problem, the bounds, and what
/// it would take with other bandwidth, workers and bytes. Solves the step up to
/// five times.
report::Document stepDocument(const ScheduledStep &step);

} // namespace commsched

#endif // COMMSCHED_TOOLS_CS_OPT_STEPDOCUMENT_H
