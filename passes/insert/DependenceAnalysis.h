// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each op of a level-0 function depends on, and what depends on it. Says
// nothing about how gradients travel or where ops run: every mode of
// --insert-dist-comm starts from it.
//
// Groups. An op that depends on no communication is in the group 'none'. The
// others are in a group (level, gradient) or (level, shared): an op that
// depends on the communication of gradient g alone is in (0, g); one that joins
// several (a global norm) is in (1, shared); one that depends on the latter and
// on gradient g (the clipped update of one parameter) is in (1, g), and so on.
// So the updates of different parameters stay apart even where all of them wait
// for one shared scalar. A group never depends on a later one in the order
// (level, shared first, then gradients as they are numbered), so each can run
// as a whole. A gradient whose operand is in a group of level n starts groups
// of level n itself.
//
// An elementwise op that reads only carried arguments and serves one deferred
// group alone (the decay of a momentum, of a weight) moves into that group: it
// would only fill the compute order and fetch the argument early.
//
// Taint. An op is tainted if it depends on the batch, or on the worker's index,
// other than through a gradient: its value differs from worker to worker.

#ifndef COMMSCHED_PASSES_INSERT_DEPENDENCEANALYSIS_H
#define COMMSCHED_PASSES_INSERT_DEPENDENCEANALYSIS_H

#include <compare>
#include <map>

#include "ir/Cs.h"
#include "passes/insert/DataFlowGraph.h"

namespace commsched {

struct ProgramFunction;

/// What trainers send of a gradient: itself, or the rows and ids of the
/// cs.segment_sum that it is.
llvm::SmallVector<mlir::Value, 2> sentOf(cs::GradientOp gradient);

/// See the head of this file. Level -1 is 'none'.
struct Group {
  static constexpr int kShared = -1;
  int level = -1, gradient = kShared;
  bool isNone() const { return level < 0; }
  bool operator==(const Group &) const = default;
  auto operator<=>(const Group &) const = default;
};

/// What makes a value differ from worker to worker.
struct Taint {
  bool batch = false, index = false;
  explicit operator bool() const { return batch || index; }
  void add(Taint other) {
    batch |= other.batch;
    index |= other.index;
  }
  /// For diagnostics: "the batch", ...
  llvm::StringRef describe() const;
};

class DependenceAnalysis {
public:
  /// Checks the body of `function`, its gradients above all, and analyses it.
  /// Bad programs get a diagnostic at the offending op. Linear in its ops.
  /// `function` must outlive the analysis, and the body must stay as it is.
  static llvm::FailureOr<DependenceAnalysis>
  run(const ProgramFunction &function);

  const ProgramFunction &getFunction() const { return *function; }
  const DataFlowGraph &getGraph() const { return graph; }

  /// Op numbers of the cs.gradient ops, in the order in which their operands
  /// are made, wherever they are marked. That order numbers the gradients.
  llvm::ArrayRef<int> getGradients() const { return gradients; }
  /// Number of the gradient that op `op` is, else -1.
  int gradientOf(int op) const { return gradientNumbers[op]; }
  /// A result is what is sent of a gradient, or the ids of rows to fetch: a
  /// fragment ends here.
  bool makesGradient(int op) const { return makers[op]; }
  /// A result is returned, sent of a gradient, or the ids of rows to fetch.
  bool leaves(int op) const { return leaving[op]; }

  Taint taintOf(Ref ref) const {
    return DataFlowGraph::isArgument(ref)
               ? taintedArguments[DataFlowGraph::argumentOf(ref)]
               : tainted[ref];
  }
  bool isTainted(Ref ref) const { return static_cast<bool>(taintOf(ref)); }
  Group groupOf(Ref ref) const {
    return DataFlowGraph::isArgument(ref) ? Group() : groups[ref];
  }

  /// Needed for a result or a gradient.
  bool isLive(int op) const { return live[op]; }
  /// Runs somewhere for its own sake: not dead, not just repeated where it is
  /// used, not a gradient or one of its rows.
  bool isPlaced(int op) const {
    return live[op] && gradientNumbers[op] < 0 && !graph.isOfRows(op) &&
           (!graph.isRepeatable(op) || leaving[op]);
  }
  /// The placed ops of all groups but 'none', in program order.
  std::map<Group, std::vector<int>> deferredOps() const;

  /// For remarks: dead ops, and ops moved into the group that they serve.
  unsigned countDead() const { return dead; }
  unsigned countSunk() const { return sunk; }

private:
  DependenceAnalysis(const ProgramFunction &function, DataFlowGraph graph);
  llvm::LogicalResult readGradients();
  Ref markLeaving(mlir::Value value);
  void readResults();
  void classify();
  void findLive();
  void sink();

  const ProgramFunction *function;
  DataFlowGraph graph;
  std::vector<int> gradients;
  std::vector<int> gradientNumbers;        // by op
  std::vector<bool> makers, leaving, live; // by op
  std::vector<Taint> tainted, taintedArguments;
  std::vector<Group> groups; // by op
  unsigned dead = 0, sunk = 0;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_DEPENDENCEANALYSIS_H
