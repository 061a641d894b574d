// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values of a level-0 function nodes must exchange, and under which keys.

#ifndef COMMSCHED_PASSES_INSERT_PLANCOMMUNICATIONS_H
#define COMMSCHED_PASSES_INSERT_PLANCOMMUNICATIONS_H

#include <string>
#include <vector>

#include "ir/Cs.h"

namespace commsched {

class DependenceAnalysis;

/// A communication between nodes, to be issued when its operand is there.
struct PlannedCommunication {
  enum Kind { Gradient, State, Metric } kind;
  std::string key;
  mlir::Value operand;
  mlir::Location loc;
  /// Gradient: the op that it replaces. State, Metric: the function's result.
  mutable cs::GradientOp gradient; // a handle
  unsigned result = 0;
};

/// The gradients, numbered as in the analysis, then the metrics and the state
/// that would differ between workers, in the order of the function's results.
/// Refuses programs whose workers would drift apart.
mlir::FailureOr<std::vector<PlannedCommunication>>
planCommunications(const DependenceAnalysis &analysis);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PLANCOMMUNICATIONS_H
