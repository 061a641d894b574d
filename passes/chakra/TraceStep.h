// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The training step that a trace shows: what computes, what it waits for, and which parameters there are.

#ifndef COMMSCHED_PASSES_CHAKRA_TRACESTEP_H
#define COMMSCHED_PASSES_CHAKRA_TRACESTEP_H

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/Cs.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/chakra/TraceFile.h"

namespace commsched::chakra {

inline constexpr llvm::StringLiteral kBatch = "batch"; ///< what a step is given; no parameter is called so

struct TraceParameter {
  size_t node = 0; ///< the all-reduce
  std::string name;
  mlir::RankedTensorType type;
  size_t producer = 0;          ///< computes the gradient
  std::optional<size_t> update; ///< computes the new value
};

/// Nodes are numbered in an order in which each comes after what it waits for, of
/// those possible the one with the lowest ids first.
struct TraceStep {
  std::vector<const Node *> nodes; ///< of the trace
  /// By node: nodes that compute, or all-reduces, that it waits for, directly or
  /// through what takes no time here.
  std::vector<std::set<size_t>> waits;
  std::vector<cs::CostAttr> costs;     ///< by node: of those that compute
  std::vector<std::set<size_t>> reads; ///< parameters, by node
  std::vector<TraceParameter> parameters;
  std::map<size_t, size_t> parameterOf; ///< by node
  /// Parameters by the nodes that compute their gradients, and their new values.
  std::map<size_t, std::vector<size_t>> madeBy, updatedBy;

  bool isGradient(size_t number) const { return parameterOf.count(number); }
};

/// Fails with an error at `location`. `trace` must live as long as what is returned.
llvm::FailureOr<TraceStep> readStep(mlir::MLIRContext *context, mlir::Location location, const Trace &trace);

} // namespace commsched::chakra

#endif // COMMSCHED_PASSES_CHAKRA_TRACESTEP_H
