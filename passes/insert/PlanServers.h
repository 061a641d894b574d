// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which parameter server owns which rows of which parameter.

#ifndef COMMSCHED_PASSES_INSERT_PLANSERVERS_H
#define COMMSCHED_PASSES_INSERT_PLANSERVERS_H

#include <string>
#include <vector>

#include "ir/CsServerFunctions.h"
#include "passes/insert/ParameterBlocks.h"
#include "passes/insert/Passes.h"
#include "passes/insert/PlanCommunications.h"
#include "passes/insert/UpdateAnalysis.h"

namespace commsched {

struct ServerOptions {
  int64_t servers = 1;
  int64_t minBlockElements = InsertDistCommOptions().minBlockElements;
  int64_t maxBlockElements = 0; // no bound
  bool slice = true;
  cs::SyncMode syncMode = cs::SyncMode::sync;
  int64_t merge = 1;
  Placement placement = Placement::Balanced;
  cs::Reduction reduction = cs::Reduction::mean;
};

/// Rows [begin, end) of a parameter; all of it if it is the only block.
struct ParameterBlock {
  unsigned parameter; // argument
  int gradient;       // number
  std::string key;    // of its messages to the server
  int64_t begin = 0, end = 0;
  int64_t server = 0;
  std::string newKey() const { return cs::getNewKey(key); }
};

/// A unit as the servers have it.
struct ServedUnit {
  const UpdateUnit *unit;
  /// Several: of its one parameter, in order. Else one for each parameter, all on one
  /// server.
  std::vector<ParameterBlock> blocks;
  bool isSliced() const {
    return unit->parameters.size() == 1 && blocks.size() > 1;
  }
};

/// A metric, or state that depends on the batch: a server takes the mean over
/// the trainers and hands it back as it is.
struct SharedMean {
  std::string key; // of its messages to the server
  mlir::RankedTensorType type;
  mlir::Location loc;
  int64_t server = 0;
  std::string newKey() const { return key + ".mean"; }
};

struct ServerPlan {
  std::vector<ServedUnit> units; // in the order of the analysis
  /// In the order of the step's results. None in the asynchronous modes, where
  /// such values stay those of each trainer.
  std::vector<SharedMean> means;
};

/// Leaves a remark for each decision. Refuses joined updates in asynchronous
/// modes, and keys that clash with each other or with those of
/// `communications`.
mlir::FailureOr<ServerPlan>
planServers(const UpdateAnalysis &analysis, const ServerOptions &options,
            llvm::ArrayRef<PlannedCommunication> communications);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PLANSERVERS_H
