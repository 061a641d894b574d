// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of levels 1 and 2, interpreted for all nodes of the cluster, and for the
// parameter servers (docs/levels.md, docs/parameter-server.md).
//
// Fragments mean what their bodies mean at level 0; a collective is combined in any
// order, an exchange in its own. When something runs has no influence on values, so
// priorities, `deferred` and `after` have none.

#ifndef COMMSCHED_REFERENCE_RANKS_H
#define COMMSCHED_REFERENCE_RANKS_H

#include "reference/Steps.h"

namespace commsched::reference {

/// Whether the step of `module` is one of placed values: level 1 or 2.
bool isOfRanks(mlir::ModuleOp module);

/// The number of parts that a step cuts a batch into: nodes times devices. Where ranks
/// run different steps, each cuts it into as many as run it, times devices.
llvm::FailureOr<int64_t> countWorkers(mlir::ModuleOp module);

/// Runs a step for each of `batches`, each with the slots of the one before.
///
/// `slots` has every parameter and state by its whole name, also those that only
/// servers have; each of `batches` every batch argument, of all workers, as runStep()
/// wants it. What a rank has for itself (cs.per_rank) is `<name>.rank<r>`, before and
/// after; where `slots` does not have it, zeros.
///
/// The slots of a result have what rank 0 has, or the servers for what only they have;
/// the metrics are those of rank 0, and of the first rank of each step where ranks run
/// different ones (cs.count). That ranks, devices and servers have equal values
/// under one name is checked. Errors are those of the Interpreter, and: an op that is
/// not known, ranks that do not do the same, or wait for ever, a message that nobody
/// receives, asynchronous servers with several trainers (no order is defined).
llvm::FailureOr<std::vector<StepResult>>
runRankSteps(mlir::ModuleOp module, NamedArrays slots, llvm::ArrayRef<NamedArrays> batches);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_RANKS_H
