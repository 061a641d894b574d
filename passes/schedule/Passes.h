// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that say when what is communicated.

#ifndef COMMSCHED_PASSES_SCHEDULE_PASSES_H
#define COMMSCHED_PASSES_SCHEDULE_PASSES_H

#include <memory>
#include <string>

#include "passes/support/CheckedPass.h"

namespace commsched {

#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_PASSES_H
