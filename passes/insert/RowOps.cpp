// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/RowOps.h"

#include <functional>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "ir/Cs.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace commsched;

namespace {

Value indexConstant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// min(max(id, 0), rows - 1)
Value clamp(OpBuilder &builder, Location loc, Value id, int64_t rows) {
  Value low = arith::MaxSIOp::create(builder, loc, id,
                                     indexConstant(builder, loc, 0));
  return arith::MinSIOp::create(builder, loc, low,
                                indexConstant(builder, loc, rows - 1));
}

Value lower(OpBuilder &builder, cs::LookupOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto table = cast<RankedTensorType>(op.getTable().getType());
  int64_t rank = type.getRank();
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  SmallVector<AffineMap> maps = {
      AffineMap::get(rank, 0, builder.getAffineDimExpr(0)),
      builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, op.getIds(), init, maps, loops,
             [&](OpBuilder &body, Location loc, ValueRange arguments) {
               Value id = arith::IndexCastOp::create(
                   body, loc, body.getIndexType(), arguments[0]);
               SmallVector<Value> at = {
                   clamp(body, loc, id, table.getDimSize(0))};
               for (int64_t d = 1; d < rank; ++d)
                 at.push_back(linalg::IndexOp::create(body, loc, d));
               Value element =
                   tensor::ExtractOp::create(body, loc, op.getTable(), at);
               linalg::YieldOp::create(body, loc, element);
             })
      .getResult(0);
}

Value add(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

/// Row `at` of `from`, as a tensor of `type`.
Value row(OpBuilder &builder, Location loc, Value from, Value at,
          RankedTensorType type) {
  int64_t rank = type.getRank() + 1;
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0)),
      sizes = {builder.getIndexAttr(1)},
      strides(rank, builder.getIndexAttr(1));
  offsets[0] = at;
  for (int64_t dim : type.getShape())
    sizes.push_back(builder.getIndexAttr(dim));
  return tensor::ExtractSliceOp::create(builder, loc, type, from, offsets,
                                        sizes, strides);
}

Value lower(OpBuilder &builder, cs::SegmentSumOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType();
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(element));
  Value empty =
      tensor::EmptyOp::create(builder, loc, type.getShape(), element);
  Value zeros =
      linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  int64_t count = cast<RankedTensorType>(op.getIds().getType()).getDimSize(0);
  if (count == 0 || type.getDimSize(0) == 0)
    return zeros;
  auto inner =
      RankedTensorType::get(type.getShape().drop_front(), element);
  int64_t rank = inner.getRank();
  auto loop = scf::ForOp::create(
      builder, loc, indexConstant(builder, loc, 0),
      indexConstant(builder, loc, count), indexConstant(builder, loc, 1),
      zeros,
      [&](OpBuilder &body, Location loc, Value i, ValueRange carried) {
        Value raw =
            tensor::ExtractOp::create(body, loc, op.getIds(), ValueRange{i});
        Value id =
            arith::IndexCastOp::create(body, loc, body.getIndexType(), raw);
        // One unsigned comparison: negative numbers are large.
        Value inside = arith::CmpIOp::create(
            body, loc, arith::CmpIPredicate::ult, id,
            indexConstant(body, loc, type.getDimSize(0)));
        Value at = clamp(body, loc, id, type.getDimSize(0));
        Value old = row(body, loc, carried[0], at, inner);
        Value update = row(body, loc, op.getValues(), i, inner);
        SmallVector<AffineMap> maps(2, body.getMultiDimIdentityMap(rank));
        SmallVector<utils::IteratorType> loops(
            rank, utils::IteratorType::parallel);
        Value sum =
            linalg::GenericOp::create(
                body, loc, inner, update, old, maps, loops,
                [&](OpBuilder &each, Location loc, ValueRange arguments) {
                  Value value = add(each, loc, arguments[1], arguments[0]);
                  Value result = arith::SelectOp::create(
                      each, loc, inside, value, arguments[1]);
                  linalg::YieldOp::create(each, loc, result);
                })
                .getResult(0);
        SmallVector<OpFoldResult> offsets(rank + 1, body.getIndexAttr(0)),
            sizes = {body.getIndexAttr(1)},
            strides(rank + 1, body.getIndexAttr(1));
        offsets[0] = at;
        for (int64_t dim : inner.getShape())
          sizes.push_back(body.getIndexAttr(dim));
        Value next = tensor::InsertSliceOp::create(
            body, loc, sum, carried[0], offsets, sizes, strides);
        scf::YieldOp::create(body, loc, next);
      });
  return loop.getResult(0);
}

} // namespace

/// Whether two loops do the same: what they use from outside is the same value, or the
/// same constant, or filled with one.
static bool isSameLoop(scf::ForOp a, scf::ForOp b) {
  llvm::DenseMap<Value, Value> same;
  std::function<bool(Value, Value)> isSame = [&](Value x, Value y) {
    if (x == y || same.lookup(x) == y)
      return true;
    Attribute left, right;
    if (matchPattern(x, m_Constant(&left)) && matchPattern(y, m_Constant(&right)))
      return left == right;
    auto fill = x.getDefiningOp<linalg::FillOp>(), other = y.getDefiningOp<linalg::FillOp>();
    return fill && other && fill.getResult(0).getType() == other.getResult(0).getType() &&
           isSame(fill.getInputs().front(), other.getInputs().front());
  };
  return OperationEquivalence::isEquivalentTo(
      a, b, [&](Value x, Value y) { return success(isSame(x, y)); },
      [&](Value x, Value y) { same[x] = y; }, OperationEquivalence::IgnoreLocations);
}

std::optional<SegmentSumOperands> commsched::matchSegmentSum(Value value) {
  auto loop = value.getDefiningOp<scf::ForOp>();
  if (!loop || loop.getNumResults() != 1)
    return std::nullopt;
  SegmentSumOperands found;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op); extract && !found.ids)
      found.ids = extract.getTensor();
    auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
    if (slice && slice.getSource() != loop.getRegionIterArgs().front())
      found.values = slice.getSource();
  }
  auto table = dyn_cast<RankedTensorType>(value.getType());
  auto isOutside = [&](Value list) {
    return list && !loop.getRegion().isAncestor(list.getParentRegion());
  };
  if (!table || !isOutside(found.ids) || !isOutside(found.values))
    return std::nullopt;
  auto ids = cast<RankedTensorType>(found.ids.getType());
  auto values = cast<RankedTensorType>(found.values.getType());
  if (ids.getRank() != 1 || ids.getEncoding() || values.getRank() != table.getRank() ||
      ids.getDimSize(0) != values.getDimSize(0) || table.getDimSize(0) == 0 ||
      ids.getDimSize(0) == 0)
    return std::nullopt;
  // Made again, beside it.
  OpBuilder builder(loop);
  auto sum = cs::SegmentSumOp::create(builder, loop.getLoc(), table, found.ids, found.values);
  Operation *before = sum->getPrevNode();
  builder.setInsertionPointAfter(sum);
  auto again = lower(builder, sum).getDefiningOp<scf::ForOp>();
  bool isIt = again && isSameLoop(loop, again);
  while (loop->getPrevNode() != before)
    loop->getPrevNode()->erase();
  if (!isIt)
    return std::nullopt;
  return found;
}

void commsched::lowerRowOps(Operation *func,
                            llvm::function_ref<bool(Operation *)> keep) {
  SmallVector<Operation *> ops;
  func->walk([&](Operation *op) {
    if (isa<cs::LookupOp, cs::SegmentSumOp>(op) && !keep(op))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops)) {
    if (!op->use_empty()) {
      OpBuilder builder(op);
      Value value;
      if (auto lookup = dyn_cast<cs::LookupOp>(op))
        value = lower(builder, lookup);
      else
        value = lower(builder, cast<cs::SegmentSumOp>(op));
      op->getResult(0).replaceAllUsesWith(value);
    }
    op->erase();
  }
}
