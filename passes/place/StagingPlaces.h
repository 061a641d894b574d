// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the staging buffers of a function lie in a staging area of bounded size, and
// what each of them waits for.

#ifndef COMMSCHED_PASSES_PLACE_STAGINGPLACES_H
#define COMMSCHED_PASSES_PLACE_STAGINGPLACES_H

#include "ir/Cs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <vector>

namespace commsched::place {

/// A staging buffer: from the start that fills it to the one that frees it.
struct Staging {
  cs::StartOp fills;
  cs::StartOp communication;
  cs::AwaitOp await;    // of the communication
  cs::StartOp toDevice; // null for a send
  int64_t bytes;
  cs::StartOp frees() { return toDevice ? toDevice : communication; }
};

/// Gives each a place among `limit` bytes, and lets it wait for what frees the buffers that
/// had some of these bytes before. Places are given in the order in which buffers are
/// filled: that of the program, or, where every communication says its turn (kTurnAttr), that of
/// the turns as far as data allows, in which the ops of the function are put then. An
/// error: a buffer needs more than `limit`.
llvm::LogicalResult giveStagingPlaces(mlir::func::FuncOp func,
                                      std::vector<Staging> &stagings, int64_t limit);

} // namespace commsched::place

#endif // COMMSCHED_PASSES_PLACE_STAGINGPLACES_H
