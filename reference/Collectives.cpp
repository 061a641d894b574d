// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Collectives.h"

#include "ir/Cs.h"
#include "ir/CsSparseOps.h"
#include "reference/Combine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

int64_t reference::evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), dims);
  int64_t rhs = evaluate(binary.getRHS(), dims);
  int64_t quotient = 0;
  if (rhs != 0)
    quotient = lhs / rhs - (lhs % rhs != 0 && (lhs < 0) != (rhs < 0));
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return lhs - quotient * rhs;
  case AffineExprKind::FloorDiv:
    return quotient;
  case AffineExprKind::CeilDiv:
    return quotient + (quotient * rhs != lhs);
  default:
    llvm_unreachable("not a binary expression");
  }
}

bool reference::contains(IntegerSet set, ArrayRef<int64_t> dims) {
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    int64_t value = evaluate(set.getConstraint(i), dims);
    if (set.isEq(i) ? value != 0 : value < 0)
      return false;
  }
  return true;
}

void reference::copyElements(const Array &from, int64_t begin, int64_t count, Array &to,
                             int64_t at) {
  for (int64_t i = 0; i < count; ++i)
    to.setFrom(at + i, from, begin + i);
}

ArrayPtr reference::cut(const Array &from, int64_t begin, ArrayRef<int64_t> shape) {
  ArrayPtr result = makeZeros(from.elementType, shape);
  copyElements(from, begin, result->size(), *result, 0);
  return result;
}

ArrayPtr reference::makeUndetermined(Type elementType, ArrayRef<int64_t> shape) {
  ArrayPtr result = makeZeros(elementType, shape);
  result->bounds.assign(result->bounds.size(), kUndetermined);
  return result;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<cs::PlacedType>(value.getType()).getTensor().getShape();
}

static Combiner combinerOf(cs::Reduction reduction) {
  switch (reduction) {
  case cs::Reduction::sum:
    return Combiner::sum;
  case cs::Reduction::mean:
    return Combiner::mean;
  case cs::Reduction::max:
    return Combiner::max;
  case cs::Reduction::min:
    return Combiner::min;
  }
  llvm_unreachable("unknown reduction");
}

bool reference::isTogether(Operation *op) {
  return isa<cs::AllReduceOp, cs::ReduceOp, cs::BroadcastOp, cs::ReduceScatterOp,
             cs::AllGatherOp, cs::PairExchangeOp, cs::AllToAllOp, cs::ExchangeOp, cs::ShardOp,
             cs::UnshardOp>(op);
}

static FlatSymbolRefAttr groupOf(Operation *op) {
  return op->getAttrOfType<FlatSymbolRefAttr>("group");
}

FailureOr<SmallVector<int64_t>> reference::membersOf(Operation *op, int64_t ranks) {
  SmallVector<int64_t> members;
  FlatSymbolRefAttr name = groupOf(op);
  cs::GroupOp group;
  if (name && !(group = SymbolTable::lookupNearestSymbolFrom<cs::GroupOp>(op, name)))
    return op->emitError() << "is in " << name << ", which is not there";
  if (group && group.getRanks())
    members.append(group.getRanks()->begin(), group.getRanks()->end());
  else
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (!group || contains(*group.getWhere(), rank))
        members.push_back(rank);
  if (members.empty() || llvm::any_of(members, [&](int64_t rank) { return rank >= ranks; }))
    return op->emitError() << "is in " << name << ", which is not of some of " << ranks
                           << " ranks";
  return members;
}

ArrayPtr reference::evaluateOutside(Operation *op, const ArrayPtr &operand) {
  if (isa<cs::AllReduceOp, cs::BroadcastOp, cs::ExchangeOp>(op))
    return operand;
  return makeUndetermined(operand->elementType, shapeOf(op->getResult(0)));
}

/// Checks that ranks do the same; what exchanges do is data of each.
static LogicalResult checkSame(ArrayRef<Operation *> ops) {
  Operation *first = ops.front();
  for (Operation *op : ops) {
    if (op->getName() != first->getName() ||
        op->getOperandTypes() != first->getOperandTypes() ||
        op->getResultTypes() != first->getResultTypes() || groupOf(op) != groupOf(first) ||
        (!isa<cs::ExchangeOp>(op) && op->getAttrDictionary() != first->getAttrDictionary()))
      return op->emitError("is not the communication that rank 0 has here, which is ")
             << first->getName();
  }
  return success();
}

namespace {

/// A collective of `ranks` ranks, by its definition. They are counted as members.
struct Definition {
  ArrayRef<ArrayPtr> operands;
  Operation *op;
  ArrayRef<int64_t> members; // which ranks they are
  int64_t ranks() const { return static_cast<int64_t>(operands.size()); }
  PerWorker all(const ArrayPtr &value) const { return PerWorker(operands.size(), value); }
  const Array &of(int64_t rank) const { return *operands[rank]; }

  FailureOr<PerWorker> refuse(const Twine &why) const {
    op->emitOpError() << why << " for " << ranks() << " ranks";
    return failure();
  }
  /// Which member a root is; the number of members if it is none.
  size_t find(uint64_t rank) const {
    return llvm::find(members, static_cast<int64_t>(rank)) - members.begin();
  }
  /// Whether dimension 0 of this operand or result is that many equal parts.
  bool isCutInto(int64_t parts, Value value) const {
    ArrayRef<int64_t> shape = shapeOf(value);
    return !shape.empty() && shape.front() % parts == 0;
  }
  /// Whether `whole` has what all ranks' `part` have together.
  bool areParts(Value part, Value whole) const {
    ArrayRef<int64_t> a = shapeOf(part), b = shapeOf(whole);
    return !a.empty() && a.size() == b.size() && a.front() * ranks() == b.front() &&
           a.drop_front() == b.drop_front();
  }

  FailureOr<PerWorker> run(cs::AllReduceOp reduce) {
    return all(combine(operands, combinerOf(reduce.getReduction())));
  }

  FailureOr<PerWorker> run(cs::ReduceOp reduce) {
    size_t root = find(reduce.getRoot());
    if (root == members.size())
      return refuse("has no root");
    PerWorker results = all(makeUndetermined(of(0).elementType, of(0).shape));
    results[root] = combine(operands, combinerOf(reduce.getReduction()));
    return results;
  }

  FailureOr<PerWorker> run(cs::BroadcastOp broadcast) {
    size_t root = find(broadcast.getRoot());
    if (root == members.size())
      return refuse("has no root");
    return all(operands[root]);
  }

  FailureOr<PerWorker> run(cs::ReduceScatterOp scatter) {
    if (!areParts(scatter.getResult(), scatter.getValue()))
      return refuse("has no equal parts");
    return shards(*combine(operands, combinerOf(scatter.getReduction())),
                  shapeOf(scatter.getResult()));
  }

  PerWorker shards(const Array &whole, ArrayRef<int64_t> shape) const {
    PerWorker results;
    for (int64_t rank = 0; rank < ranks(); ++rank)
      results.push_back(cut(whole, rank * (whole.size() / ranks()), shape));
    return results;
  }

  FailureOr<PerWorker> run(cs::AllGatherOp gather) {
    if (!areParts(gather.getValue(), gather.getResult()))
      return refuse("has no equal parts");
    ArrayPtr whole = makeZeros(of(0).elementType, shapeOf(gather.getResult()));
    for (int64_t rank = 0; rank < ranks(); ++rank)
      copyElements(of(rank), 0, of(rank).size(), *whole, rank * of(rank).size());
    return all(whole);
  }

  FailureOr<PerWorker> run(cs::ShardOp shard) {
    if (!areParts(shard.getResult(), shard.getValue()))
      return refuse("has no equal parts");
    PerWorker results;
    for (int64_t rank = 0; rank < ranks(); ++rank)
      results.push_back(cut(of(rank), rank * (of(rank).size() / ranks()),
                            shapeOf(shard.getResult())));
    return results;
  }

  FailureOr<PerWorker> run(cs::UnshardOp unshard) {
    if (!areParts(unshard.getValue(), unshard.getResult()))
      return refuse("has no equal parts");
    PerWorker results;
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      ArrayPtr whole = makeUndetermined(of(rank).elementType, shapeOf(unshard.getResult()));
      copyElements(of(rank), 0, of(rank).size(), *whole, rank * of(rank).size());
      results.push_back(whole);
    }
    return results;
  }

  FailureOr<PerWorker> run(cs::PairExchangeOp pair) {
    auto distance = static_cast<int64_t>(pair.getDistance());
    if (distance < 1 || ranks() % (2 * distance) != 0 || !isCutInto(2, pair.getValue()))
      return refuse("has no pairs");
    PerWorker results;
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      const Array &low = of(rank & ~distance), &high = of(rank | distance);
      int64_t half = low.size() / 2;
      ArrayPtr both = makeZeros(low.elementType, low.shape);
      copyElements(low, 0, half, *both, 0);
      copyElements(high, half, half, *both, half);
      results.push_back(both);
    }
    return results;
  }

  FailureOr<PerWorker> run(cs::AllToAllOp op) {
    if (!isCutInto(2 * ranks(), op.getValue()))
      return refuse("has no equal parts");
    PerWorker results;
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      int64_t half = of(rank).size() / 2, part = half / ranks();
      ArrayPtr result = cut(of(rank), 0, of(rank).shape);
      for (int64_t other = 0; other < ranks(); ++other)
        if (other != rank)
          copyElements(of(other), rank * part, part, *result, half + other * part);
      results.push_back(result);
    }
    return results;
  }
};

} // namespace

FailureOr<PerWorker> reference::evaluateTogether(ArrayRef<Operation *> ops,
                                                 ArrayRef<ArrayPtr> operands,
                                                 ArrayRef<int64_t> members) {
  if (failed(checkSame(ops)))
    return failure();
  if (isa<cs::AllReduceOp, cs::ReduceOp, cs::ReduceScatterOp>(ops.front()))
    for (auto [op, operand] : llvm::zip(ops, operands))
      if (operand->hasUnwritten())
        return op->emitOpError("combines elements that were never written"), failure();
  Definition definition{operands, ops.front(), members};
  return TypeSwitch<Operation *, FailureOr<PerWorker>>(ops.front())
      .Case<cs::AllReduceOp, cs::ReduceOp, cs::BroadcastOp, cs::ReduceScatterOp,
            cs::AllGatherOp, cs::PairExchangeOp, cs::AllToAllOp, cs::ShardOp, cs::UnshardOp>(
          [&](auto op) { return definition.run(op); })
      .Case([&](cs::ExchangeOp) { return exchange(ops, operands); })
      .Default([](Operation *op) {
        op->emitOpError("is not interpreted between ranks");
        return FailureOr<PerWorker>(failure());
      });
}

//===----------------------------------------------------------------------===//
// Within a node
//===----------------------------------------------------------------------===//

bool reference::isMove(Operation *op) {
  return isa<cs::CopyOp, cs::SplitOp, cs::ConcatOp, cs::PackOp, cs::UnpackOp>(op);
}

/// Pieces of tensors, one behind the other.
static ArrayPtr join(ArrayRef<ArrayPtr> pieces, ArrayRef<int64_t> bounds,
                     ArrayRef<int64_t> shape) {
  ArrayPtr result = makeZeros(pieces.front()->elementType, shape);
  int64_t at = 0;
  for (auto [i, piece] : llvm::enumerate(pieces)) {
    int64_t count = bounds[2 * i + 1] - bounds[2 * i];
    copyElements(*piece, bounds[2 * i], count, *result, at);
    at += count;
  }
  return result;
}

SmallVector<ArrayPtr> reference::evaluateMove(Operation *op, ArrayRef<ArrayPtr> operands) {
  SmallVector<ArrayPtr> results;
  if (auto split = dyn_cast<cs::SplitOp>(op)) {
    int64_t at = 0;
    for (Value block : split.getBlocks()) {
      results.push_back(cut(*operands.front(), at, shapeOf(block)));
      at += results.back()->size();
    }
    return results;
  }
  if (isa<cs::CopyOp>(op))
    return {operands.front()};
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (auto pack = dyn_cast<cs::PackOp>(op))
    return {join(operands, pack.getBounds(), shape)};
  if (auto unpack = dyn_cast<cs::UnpackOp>(op))
    return {join(operands, unpack.getBounds(), shape)};
  SmallVector<int64_t> wholes;
  for (const ArrayPtr &block : operands)
    wholes.append({0, block->size()});
  return {join(operands, wholes, shape)};
}
