// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass that makes fewer collectives of several.

#ifndef COMMSCHED_PASSES_COMBINE_PASSES_H
#define COMMSCHED_PASSES_COMBINE_PASSES_H

#include <memory>

#include "passes/support/CheckedPass.h"

namespace commsched {

#define GEN_PASS_DECL
#include "passes/combine/Passes.h.inc"

} // namespace commsched

#endif // COMMSCHED_PASSES_COMBINE_PASSES_H
