// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference interpreter of level 0 (docs/interpreter.md): what a function of
// func, linalg, tensor, arith, math, scf and cs means, op by op. It shares no code
// with the compiler or the runtime, so that both can be compared with it.

#ifndef COMMSCHED_REFERENCE_INTERPRETER_H
#define COMMSCHED_REFERENCE_INTERPRETER_H

#include "reference/Combine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace commsched::reference {

class Interpreter;

/// What an op sees when it is evaluated for one worker.
struct OpContext {
  Interpreter &interpreter;
  mlir::Operation *op;
  /// One for each operand. A value whose last use this is, is moved in, so that
  /// owned() of it copies nothing.
  llvm::MutableArrayRef<ArrayPtr> operands;
  /// To be filled: one for each result, of its type.
  llvm::SmallVectorImpl<ArrayPtr> &results;
  int64_t worker, workers;

  const Array &operand(unsigned i) const { return *operands[i]; }
};
/// Evaluates an op for one worker; or fails, with an error at the op.
using OpFunction = llvm::LogicalResult (*)(OpContext &);

/// Evaluates blocks. Stateless between calls but for a cache of compiled regions,
/// keyed by op: an op that was evaluated must not be changed or erased before the
/// interpreter is destroyed. Not thread-safe.
///
/// Every failure has emitted an error at the op that caused it: an op that is not
/// known, an element that is read but was never written, an index outside, a
/// division by zero, arithmetic with fast-math flags other than contract.
class Interpreter {
public:
  Interpreter();
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;

  /// Calls `function` on `workers` workers in lockstep: op by op, and each op for
  /// every worker. cs.gradient, and nothing else, is evaluated across workers.
  /// `arguments`: one for each argument; the results likewise.
  llvm::FailureOr<llvm::SmallVector<PerWorker>>
  call(mlir::func::FuncOp function, llvm::ArrayRef<PerWorker> arguments, int64_t workers);

  /// Evaluates the one block of a region for one worker: `arguments` become its
  /// arguments, values of outside are those of the enclosing evaluation (none if
  /// the op of the region is isolated from above). Returns the operands of the
  /// terminator. This is how the body of a fragment is evaluated. Arrays that are
  /// moved in, and nobody else holds, are updated in place.
  llvm::FailureOr<llvm::SmallVector<ArrayPtr>>
  evaluateRegion(mlir::Region &region, llvm::SmallVector<ArrayPtr> arguments,
                 int64_t worker = 0, int64_t workers = 1);

  /// Evaluates one op that has no successors, with these operands. Values that its
  /// regions take from outside are those of the enclosing evaluation.
  llvm::LogicalResult evaluateOp(mlir::Operation *op,
                                 llvm::SmallVectorImpl<ArrayPtr> &operands,
                                 llvm::SmallVectorImpl<ArrayPtr> &results,
                                 int64_t worker = 0, int64_t workers = 1);

  /// Within an evaluation: the value, which must have been computed. For regions
  /// that use values of outside.
  const ArrayPtr &lookup(mlir::Value value) const;

  /// What cs.gradient does with the operands of all workers; the mean at first.
  void setReduction(Combiner combiner) { reduction = combiner; }

  /// Whether there is a function for ops of this name.
  static bool knows(llvm::StringRef opName);

  struct Frame;
  struct Cache;
  Cache &cache() { return *compiled; }

private:
  llvm::LogicalResult callInto(mlir::func::FuncOp function,
                               llvm::MutableArrayRef<std::unique_ptr<Frame>> frames,
                               llvm::SmallVectorImpl<PerWorker> &results);
  llvm::LogicalResult step(mlir::Operation *op, Frame &frame, int64_t worker,
                           int64_t workers);

  std::unique_ptr<Cache> compiled;
  Frame *current = nullptr;
  Combiner reduction = Combiner::mean;
};

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_INTERPRETER_H
