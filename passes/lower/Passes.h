// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes to level 2, and what proves that it cannot hang.

#ifndef COMMSCHED_PASSES_LOWER_PASSES_H
#define COMMSCHED_PASSES_LOWER_PASSES_H

#include <memory>
#include <string>

#include "passes/support/CheckedPass.h"

namespace commsched {

#define GEN_PASS_DECL
#include "passes/lower/Passes.h.inc"

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_PASSES_H
