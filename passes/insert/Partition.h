// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which op of a level-0 function goes into which fragment.
//
// Let the ops of the function run one by one, in program order, on one device,
// but let whatever depends on a communication step aside until that is done.
// Call that the uncut program. The partition keeps two promises:
//
// 1. A gradient is available no later than in the uncut program: the fragments
//    up to the one that ends with the gradient's producer hold no op that comes
//    after the producer, or that depends on a communication.
// 2. An argument that communication updates is needed no earlier: its first
//    reader is the first op of its fragment.
//
// Groups. An op that depends on no communication is in the group 'none'. The
// others are in a group (level, communication) or (level, shared): an op that
// depends on communication c alone is in (0, c); one that joins several
// communications (a global norm) is in (1, shared); one that depends on the
// latter and on communication c (the clipped update of one parameter) is in
// (1, c), and so on. So the updates of different parameters stay apart even
// where all of them wait for one shared scalar. A group never depends on a
// later one in the order (level, shared first, then communications in issue
// order), so each can be one fragment. A communication whose operand is in a
// group of level n starts groups of level n itself.
//
// An elementwise op that reads only carried arguments and serves one deferred
// group alone (the decay of a momentum, of a weight) moves into that group: it
// would only fill the compute order and fetch the argument early.

#ifndef COMMSCHED_PASSES_INSERT_PARTITION_H
#define COMMSCHED_PASSES_INSERT_PARTITION_H

#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include "passes/insert/Program.h"

namespace commsched {

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

struct PlannedFragment {
  std::string label;
  bool deferred = false;
  std::vector<mlir::Operation *> ops;
  /// Communications whose operand is made here.
  std::vector<unsigned> communications;
};

struct Partition {
  std::vector<PlannedCommunication> communications;
  /// In the order of emission.
  std::vector<PlannedFragment> fragments;
  /// Communications whose operand is an argument.
  std::vector<unsigned> argumentCommunications;
  /// By communication: those whose operand is its result.
  std::vector<std::vector<unsigned>> chainedCommunications;
  /// Fragment of each op that is in one.
  llvm::DenseMap<mlir::Operation *, unsigned> fragmentOf;
  /// Ops that each fragment repeats for itself. Those whose value leaves the
  /// function or is communicated are in a fragment besides.
  llvm::DenseSet<mlir::Operation *> repeated;
  /// Why fragments were cut, and what else was done: for remarks.
  unsigned cutsAfterGradient = 0, cutsBeforeParameter = 0, deadOps = 0,
           sunkOps = 0;
};

/// Checks the body of `function` and partitions it. Linear in its ops.
mlir::FailureOr<Partition> partition(const ProgramFunction &function);

/// Calls `fn(OpOperand &)` for each operand of `op` and of the ops nested in
/// it.
template <typename Fn> void forEachUse(mlir::Operation *op, Fn fn) {
  for (mlir::OpOperand &operand : op->getOpOperands())
    fn(operand);
  for (mlir::Region &region : op->getRegions())
    region.walk([&](mlir::Operation *nested) {
      for (mlir::OpOperand &operand : nested->getOpOperands())
        fn(operand);
    });
}

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PARTITION_H
