// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of a level-0 function as a data-flow graph: the top-level ops are the
// nodes, numbered in program order, and what they use are the edges.

#ifndef COMMSCHED_PASSES_INSERT_DATAFLOWGRAPH_H
#define COMMSCHED_PASSES_INSERT_DATAFLOWGRAPH_H

#include <cstddef>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class Block;
class OpOperand;
class Operation;
class Value;
} // namespace mlir

namespace commsched {

/// A value that a top-level op uses: result of op `op`, or argument `-1 - op`.
using Ref = int;

class DataFlowGraph {
public:
  /// Reads the ops of `block`, but for the terminator, and checks that each is
  /// a cs.gradient or can be in a fragment: no calls, no side effects, results
  /// that can live on a device. Linear in the ops and their uses.
  static llvm::FailureOr<DataFlowGraph> read(mlir::Block &block);

  int size() const { return ops.size(); }
  mlir::Operation *operator[](int op) const { return ops[op]; }

  /// What the op and the ops nested in it use, in order; a value that is used
  /// twice is there twice.
  llvm::ArrayRef<Ref> usesOf(int op) const {
    return llvm::ArrayRef(refs).slice(firstRef[op],
                                      firstRef[op + 1] - firstRef[op]);
  }
  /// Of an argument of the block, or a result of one of the ops.
  Ref refOf(mlir::Value value) const;
  static bool isArgument(Ref ref) { return ref < 0; }
  static int argumentOf(Ref ref) { return -1 - ref; }

  /// Constants, empty tensors and their fills with constants: cheaper to repeat
  /// than to keep, and no reason to tie two fragments together.
  bool isRepeatable(int op) const { return repeatable[op]; }
  /// A cs.lookup or cs.segment_sum, which trainers and servers do together.
  bool isOfRows(int op) const;
  /// One pass over its operands, no reduction.
  bool isCheap(int op) const;

private:
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, int> index;
  std::vector<Ref> refs;
  std::vector<size_t> firstRef; // by op, and the end
  std::vector<bool> repeatable;
};

/// Calls `fn` for each operand of `op` and of the ops nested in it.
void forEachUse(mlir::Operation *op,
                llvm::function_ref<void(mlir::OpOperand &)> fn);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_DATAFLOWGRAPH_H
