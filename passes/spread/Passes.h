// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass that spreads repeated work over the nodes.

#ifndef COMMSCHED_PASSES_SPREAD_PASSES_H
#define COMMSCHED_PASSES_SPREAD_PASSES_H

#include <memory>
#include <string>

#include "passes/support/CheckedPass.h"

namespace commsched {

#define GEN_PASS_DECL
#include "passes/spread/Passes.h.inc"

} // namespace commsched

#endif // COMMSCHED_PASSES_SPREAD_PASSES_H
