// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation validation of bufferization: what each operation reads was written
// by the same operations before and after.

#include "passes/plan/CheckTimer.h"
#include "passes/plan/MemoryTrace.h"
#include "passes/plan/Stages.h"

#include "ir/Cs.h"
#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace commsched::planexport {

static std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    text += linalgOp.getNumReductionLoops() ? " (a reduction)" : "";
  return text;
}

// Those that are known to have written are among those that may have. What has no value
// may have any.
static bool agrees(const Writers &wanted, const Writers &got) {
  auto isNothing = [](const Source &source) { return source.kind == Source::Nothing; };
  auto among = [&](const Sources &some, const Sources &all) {
    return llvm::all_of(some, [&](const Source &source) {
      return isNothing(source) || llvm::is_contained(all, source);
    });
  };
  if (wanted.vague && got.vague) // at least one is the same
    return llvm::any_of(got.sources, [&](const Source &source) {
      return isNothing(source) || llvm::is_contained(wanted.sources, source);
    });
  bool any = llvm::any_of(wanted.sources, isNothing);
  return (wanted.vague || among(wanted.sources, got.sources)) &&
         (got.vague || any || among(got.sources, wanted.sources));
}

static LogicalResult compare(func::FuncOp function, const MemoryTrace &before,
                             const MemoryTrace &after) {
  for (const auto &[key, read] : after.reads()) {
    auto it = before.reads().find(key);
    if (it == before.reads().end())
      return read.op->emitError("internal error: ")
             << describe(read.op) << " reads memory that it did not read before it was assigned";
    if (!agrees(it->second.writers, read.writers))
      return read.op->emitError("internal error: memory of ")
             << (key.kind == ReadKey::Result ? "a result" : "operand ")
             << (key.kind == ReadKey::Result ? Twine() : Twine(key.operand)) << " of "
             << describe(read.op) << " is overwritten before it is read";
  }
  // Ops of `before` may be gone: the function says where.
  for (const auto &[key, read] : before.reads())
    if (!after.reads().contains(key))
      return function.emitError("internal error: a read is lost where memory is assigned");
  for (const auto &[argument, op] : after.writtenArguments())
    if (!before.writtenArguments().contains(argument))
      return op->emitError("internal error: ")
             << describe(op) << " writes into the memory of an operand of its fragment";
  return success();
}

/// A result that is a tensor.empty as a whole would be whatever its memory has held.
static LogicalResult checkResults(const MemoryTrace &before) {
  for (const auto &[key, read] : before.reads())
    if (key.kind == ReadKey::Result && !read.writers.sources.empty() &&
        llvm::all_of(read.writers.sources, [](const Source &source) { return source.kind == Source::Nothing; }))
      return emitError(read.op->getLoc(), "a result has no value: nothing has been written to its tensor.empty");
  return success();
}

LogicalResult checkMemory(func::FuncOp function, double &seconds,
                          llvm::function_ref<LogicalResult()> change) {
  CheckTimer timer(seconds);
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<TensorType>(type); tensor && !tensor.hasStaticShape()) {
        op->emitError("cannot be given memory ahead of time, got: ") << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  numberMemory(function);
  MemoryTrace before(function);
  if (failed(before.run()) || failed(checkResults(before)))
    return failure();
  timer.stop();
  if (failed(change()))
    return failure();
  timer.start();
  MemoryTrace after(function);
  if (failed(after.run()) || failed(compare(function, before, after)))
    return failure();
  forgetMemoryNumbers(function);
  return success();
}

} // namespace commsched::planexport
