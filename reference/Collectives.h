// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What communications between nodes are defined to be: all nodes' values go in, all
// nodes' values come out. Of exchanges the order of every sum is defined; of the
// collectives that they are made from it is not, and the bounds hold for any.

#ifndef COMMSCHED_REFERENCE_COLLECTIVES_H
#define COMMSCHED_REFERENCE_COLLECTIVES_H

#include "reference/Array.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Operation.h"

namespace commsched::reference {

/// Value of an affine expression of dimensions only.
int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims);
bool contains(mlir::IntegerSet set, llvm::ArrayRef<int64_t> dims);

/// `shape` elements of `from`, row-major, from element `begin` on.
ArrayPtr cut(const Array &from, int64_t begin, llvm::ArrayRef<int64_t> shape);
/// Copies elements begin .. begin + count - 1 to `to`, from its element `at` on.
void copyElements(const Array &from, int64_t begin, int64_t count, Array &to, int64_t at);
/// Elements of which nothing is said.
ArrayPtr makeUndetermined(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);

/// Whether evaluateTogether() evaluates this op: it needs the values of all nodes.
bool isTogether(mlir::Operation *op);
/// Of `ranks` ranks, those that such an op is of, in the order of its group. Fails with an
/// error if the group has one that is not there, or has none.
llvm::FailureOr<llvm::SmallVector<int64_t>> membersOf(mlir::Operation *op, int64_t ranks);
/// What a rank that is not one of them has as its result.
ArrayPtr evaluateOutside(mlir::Operation *op, const ArrayPtr &operand);
/// Evaluates one collective, exchange, shard or unshard, which rank `members[i]` has as
/// `ops[i]` (the same op, if all run the same function) with the operand `operands[i]`.
/// Fails with an error at an op, also where the ranks' ops do not fit together.
llvm::FailureOr<PerWorker> evaluateTogether(llvm::ArrayRef<mlir::Operation *> ops,
                                            llvm::ArrayRef<ArrayPtr> operands,
                                            llvm::ArrayRef<int64_t> members);

/// Evaluates cs.exchange, which is a part of evaluateTogether().
llvm::FailureOr<PerWorker> exchange(llvm::ArrayRef<mlir::Operation *> ops,
                                    llvm::ArrayRef<ArrayPtr> operands);

/// Whether evaluateMove() evaluates this op: cs.copy, split, concat, pack, unpack.
bool isMove(mlir::Operation *op);
/// Evaluates an op that moves elements within a node.
llvm::SmallVector<ArrayPtr> evaluateMove(mlir::Operation *op,
                                         llvm::ArrayRef<ArrayPtr> operands);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_COLLECTIVES_H
