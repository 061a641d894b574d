// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PLAN_URGENCY_H
#define COMMSCHED_PASSES_PLAN_URGENCY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <cstdint>

namespace commsched::planexport {

/// Priority of a deferred instruction that runs before what its stream has in its
/// turn.
inline constexpr int32_t kUrgent = -1;

/// Deferred fragments that a communication of this step waits for and that wait
/// for none: the sums over the devices of a node. They hold up the network if
/// they wait until their stream has nothing else to do.
llvm::DenseSet<mlir::Operation *> findUrgent(mlir::func::FuncOp function);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_URGENCY_H
