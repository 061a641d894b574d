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
  enum Kind {
    Gradient,
    State,
    Metric,
    Rows
  } kind;
  std::string key;
  mlir::Value operand;
  mlir::Location loc;
  /// Gradient: the op that it replaces. State, Metric: the function's result.
  mutable cs::GradientOp gradient; // a handle
  unsigned result = 0;
  /// Gradient that is row-sparse: the ids of the operand's rows, else null.
  mlir::Value ids = {};
  /// Rows (of a table, to fetch; the operand is their ids): the op that it
  /// replaces.
  mutable cs::LookupOp rows = {};
  bool isResult() const { return kind == Metric || kind == State; }
};

/// The gradients, numbered as in the analysis, the rows of tables that are
/// fetched, in program order, then the metrics and the state
/// that would differ between workers, in the order of the function's results.
/// Refuses programs whose workers would drift apart.
mlir::FailureOr<std::vector<PlannedCommunication>>
planCommunications(const DependenceAnalysis &analysis);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PLANCOMMUNICATIONS_H
