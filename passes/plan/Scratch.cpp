// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Temporaries of a fragment share one scratch area: each has an interval of
// operations of the function body in which it is used, and intervals that
// overlap get disjoint bytes.

#include "passes/plan/Memory.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace commsched::planexport {

uint64_t elementBytes(Type type) {
  return type.isInteger(1) ? 1
         : type.isIndex()  ? 8
                           : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

// Widens [first, last] to all ops that may use `buffer`, through views and
// regions.
static void extendInterval(Value buffer, Block *top, unsigned &first,
                           unsigned &last,
                           const DenseMap<Operation *, unsigned> &order) {
  SmallVector<Value> work{buffer};
  DenseSet<Value> seen{buffer};
  auto push = [&](Value value) {
    if (isa<BaseMemRefType>(value.getType()) && seen.insert(value).second)
      work.push_back(value);
  };
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Operation *user : value.getUsers()) {
      unsigned index = order.lookup(top->findAncestorOpInBlock(*user));
      first = std::min(first, index);
      last = std::max(last, index);
      for (Value result : user->getResults())
        push(result);
      // Carried into or out of regions: everything there may be it.
      for (Region &region : user->getRegions())
        if (user->getNumResults())
          for (Block &block : region)
            for (Value arg : block.getArguments())
              push(arg);
      if (user->hasTrait<OpTrait::IsTerminator>())
        if (Operation *parent = user->getParentOp(); !isa<func::FuncOp>(parent)) {
          for (Value result : parent->getResults())
            push(result);
          for (Region &region : parent->getRegions())
            for (Block &block : region)
              for (Value arg : block.getArguments())
                push(arg);
        }
    }
  }
}

uint64_t placeIntervals(MutableArrayRef<Interval> intervals) {
  SmallVector<Interval *> bySize;
  for (Interval &interval : intervals)
    bySize.push_back(&interval);
  llvm::stable_sort(bySize,
                    [](Interval *a, Interval *b) { return a->bytes > b->bytes; });
  uint64_t total = 0;
  SmallVector<Interval *> placed; // sorted by offset
  for (Interval *interval : bySize) {
    // The smallest gap that fits.
    uint64_t end = 0, best = UINT64_MAX, bestGap = UINT64_MAX;
    for (Interval *other : placed) {
      if (other->last < interval->first || interval->last < other->first)
        continue;
      if (other->offset >= end + interval->bytes && other->offset - end < bestGap) {
        best = end;
        bestGap = other->offset - end;
      }
      end = std::max(end, llvm::alignTo(other->offset + other->bytes, 64));
    }
    interval->offset = best == UINT64_MAX ? end : best;
    total = std::max(total, interval->offset + interval->bytes);
    auto at = llvm::upper_bound(placed, interval, [](Interval *a, Interval *b) {
      return a->offset < b->offset;
    });
    placed.insert(at, interval);
  }
  return llvm::alignTo(total, 64);
}

FailureOr<uint64_t> assignScratch(func::FuncOp function) {
  Block *top = &function.getBody().front();
  DenseMap<Operation *, unsigned> order;
  for (auto [i, op] : llvm::enumerate(*top))
    order[&op] = i;
  SmallVector<Operation *> allocs;
  SmallVector<Interval> intervals;
  WalkResult walk = function.walk([&](Operation *op) {
    if (isa<memref::DeallocOp>(op)) {
      op->erase();
      return WalkResult::advance();
    }
    if (!isa<memref::AllocOp, memref::AllocaOp>(op) || op->hasAttr(kOfThreadsAttr))
      return WalkResult::advance();
    auto type = cast<MemRefType>(op->getResult(0).getType());
    if (!type.hasStaticShape() || !type.getLayout().isIdentity()) {
      op->emitError("cannot be given memory ahead of time, got: ") << type;
      return WalkResult::interrupt();
    }
    Interval interval;
    interval.bytes =
        std::max<uint64_t>(1, type.getNumElements() * elementBytes(type.getElementType()));
    interval.first = interval.last = order.lookup(top->findAncestorOpInBlock(*op));
    if (op->getBlock() == top)
      interval.first = UINT32_MAX;
    extendInterval(op->getResult(0), top, interval.first, interval.last, order);
    if (interval.first > interval.last)
      interval.first = interval.last;
    allocs.push_back(op);
    intervals.push_back(interval);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  uint64_t total = placeIntervals(intervals);

  OpBuilder builder(function->getContext());
  auto bytes = MemRefType::get({static_cast<int64_t>(total)}, builder.getI8Type());
  if (failed(function.insertArgument(1, bytes, {}, function.getLoc())))
    return failure();
  for (auto [op, interval] : llvm::zip(allocs, intervals)) {
    builder.setInsertionPointToStart(top);
    Value offset =
        arith::ConstantIndexOp::create(builder, op->getLoc(), interval.offset);
    Value view = memref::ViewOp::create(
        builder, op->getLoc(), cast<MemRefType>(op->getResult(0).getType()),
        function.getArgument(1), offset, ValueRange{});
    op->getResult(0).replaceAllUsesWith(view);
    op->erase();
  }
  return total;
}

} // namespace commsched::planexport
