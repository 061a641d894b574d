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
// What depends on a communication goes into deferred fragments: one for each
// group of DependenceAnalysis.h, but cut after each gradient. No group depends
// on a later one, so they are emitted in that order.

#ifndef COMMSCHED_PASSES_INSERT_PARTITION_H
#define COMMSCHED_PASSES_INSERT_PARTITION_H

#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include "passes/insert/PlanCommunications.h"

namespace commsched {

struct ProgramFunction;

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

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PARTITION_H
