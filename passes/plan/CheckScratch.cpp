// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/Memory.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

/// A temporary: its bytes, and from which to which operation of the function's
/// body it is used, in loops and branches or not.
struct Temporary {
  int64_t begin, end;
  unsigned first = UINT_MAX, last = 0;
  memref::ViewOp view;
};

} // namespace

LogicalResult checkScratch(func::FuncOp function, uint64_t bytes) {
  Block &body = function.getBody().front();
  DenseMap<Operation *, unsigned> order;
  for (auto [i, op] : llvm::enumerate(body))
    order[&op] = i;
  BufferViewFlowAnalysis aliases(function);
  SmallVector<Temporary> temporaries;
  for (auto view : body.getOps<memref::ViewOp>()) {
    MemRefType type = view.getType();
    std::optional<int64_t> begin = getConstantIntValue(view.getByteShift());
    if (!begin)
      return view.emitError("internal error: a temporary must be at a place that is known");
    int64_t size = type.getNumElements() * elementBytes(type.getElementType());
    Temporary temporary{*begin, *begin + size, UINT_MAX, 0, view};
    if (*begin < 0 || static_cast<uint64_t>(temporary.end) > bytes)
      return view.emitError("internal error: a temporary lies outside of the ")
             << bytes << " bytes of scratch memory";
    for (Value alias : aliases.resolve(view))
      for (Operation *user : alias.getUsers()) {
        if (user->getNumResults() == 1 && isa<MemRefType>(user->getResultTypes()[0]) &&
            user->getNumRegions() == 0)
          continue; // a view: an alias too
        unsigned at = order.lookup(body.findAncestorOpInBlock(*user));
        temporary.first = std::min(temporary.first, at);
        temporary.last = std::max(temporary.last, at);
      }
    if (temporary.first <= temporary.last && size)
      temporaries.push_back(temporary);
  }
  llvm::stable_sort(temporaries, [](const Temporary &a, const Temporary &b) {
    return a.begin < b.begin;
  });
  // Where they begin, with those that reach there.
  SmallVector<Temporary *> open;
  for (Temporary &temporary : temporaries) {
    llvm::erase_if(open, [&](Temporary *other) { return other->end <= temporary.begin; });
    for (Temporary *other : open)
      if (other->first <= temporary.last && temporary.first <= other->last)
        return temporary.view.emitError("internal error: a temporary of ")
               << temporary.view.getType() << " shares memory with one of "
               << other->view.getType() << " that is in use";
    open.push_back(&temporary);
  }
  return success();
}

} // namespace commsched::planexport
