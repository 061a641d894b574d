// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of CommSched: constructors, options and registration.

#ifndef COMMSCHED_PASSES_PASSES_H
#define COMMSCHED_PASSES_PASSES_H

#include <memory>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include "ir/Cs.h"
#include "passes/insert/Passes.h"
#include "passes/lower/Passes.h"
#include "passes/place/Passes.h"
#include "passes/schedule/Passes.h"

namespace commsched {

/// Registers every pass with the global registry; may be called again.
void registerPasses();

/// Registers the pipelines (passes/Pipelines.h) with the global registry.
void registerPipelines();

} // namespace commsched

#endif // COMMSCHED_PASSES_PASSES_H
