// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/support/RowWise.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include "ir/Cs.h"

using namespace mlir;
using namespace commsched;

namespace {

using RowOperands = std::optional<SmallVector<bool>>;

bool hasRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0 && tensor.hasStaticShape();
}

RowOperands ofElementwise(Operation *op) {
  SmallVector<bool> result;
  for (Value operand : op->getOperands())
    result.push_back(isa<TensorType>(operand.getType()));
  return result;
}

/// Operands of the type of the results go with them, element by element.
RowOperands ofProfiled(Operation *op) {
  Type type = op->getResultTypes().front();
  if (!llvm::all_equal(op->getResultTypes()))
    return std::nullopt;
  SmallVector<bool> result;
  for (Value operand : op->getOperands())
    result.push_back(operand.getType() == type);
  return result;
}

/// Follows the loop over the rows of the results through the operands.
RowOperands ofLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() == 0)
    return std::nullopt;
  AffineMap first = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (first.getNumResults() == 0)
    return std::nullopt;
  auto loop = dyn_cast<AffineDimExpr>(first.getResult(0));
  if (!loop || op.getIteratorTypesArray()[loop.getPosition()] !=
                   utils::IteratorType::parallel)
    return std::nullopt;
  // Rows of a block are counted from 0.
  if (op->walk([&](linalg::IndexOp index) {
          return index.getDim() == loop.getPosition()
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        }).wasInterrupted())
    return std::nullopt;
  SmallVector<bool> result;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool isRows = map.getNumResults() > 0 && map.getResult(0) == loop;
    if (op.isDpsInit(&operand) && !isRows)
      return std::nullopt;
    for (AffineExpr expr : map.getResults().drop_front(isRows))
      if (expr.isFunctionOfDim(loop.getPosition()))
        return std::nullopt;
    result.push_back(isRows);
  }
  return result;
}

/// Reshapes that leave dimension 0 alone, but for dimensions of size 1 next to
/// it.
RowOperands ofReshape(RankedTensorType longer, RankedTensorType shorter,
                      ArrayRef<ReassociationIndices> reassociation) {
  if (reassociation.empty() || longer.getDimSize(0) != shorter.getDimSize(0))
    return std::nullopt;
  for (int64_t dim : ArrayRef(reassociation[0]).drop_front())
    if (longer.getDimSize(dim) != 1)
      return std::nullopt;
  return SmallVector<bool>{true};
}

} // namespace

RankedTensorType commsched::withRows(RankedTensorType type, int64_t rows) {
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = rows;
  return type.clone(shape);
}

Value commsched::cutRows(OpBuilder &builder, Value from, int64_t begin, int64_t end) {
  auto type = cast<RankedTensorType>(from.getType());
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (int64_t dim : type.getShape()) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(builder.getIndexAttr(dim));
    strides.push_back(builder.getIndexAttr(1));
  }
  offsets[0] = builder.getIndexAttr(begin);
  sizes[0] = builder.getIndexAttr(end - begin);
  return tensor::ExtractSliceOp::create(builder, from.getLoc(), withRows(type, end - begin), from,
                                        offsets, sizes, strides);
}

std::optional<SmallVector<bool>> commsched::rowOperands(Operation *op) {
  if (op->getNumResults() == 0 || !llvm::all_of(op->getResultTypes(), hasRows))
    return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue())
               ? RowOperands(SmallVector<bool>())
               : std::nullopt;
  if (isa<tensor::EmptyOp>(op) && op->getNumOperands() == 0)
    return SmallVector<bool>();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return splat.getDynamicSizes().empty()
               ? RowOperands(SmallVector<bool>{false})
               : std::nullopt;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return ofLinalg(linalgOp);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    if (expand.getSrcType().getRank() == 0 || expand->getNumOperands() != 1)
      return std::nullopt;
    return ofReshape(expand.getResultType(), expand.getSrcType(),
                     expand.getReassociationIndices());
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return ofReshape(collapse.getSrcType(), collapse.getResultType(),
                     collapse.getReassociationIndices());
  if (auto profiled = dyn_cast<cs::ProfiledOp>(op))
    return profiled.getElementwise() ? ofProfiled(op) : std::nullopt;
  if (OpTrait::hasElementwiseMappableTraits(op))
    return ofElementwise(op);
  return std::nullopt;
}

Operation *commsched::cloneForRows(OpBuilder &builder, Operation *op,
                                   ValueRange operands, IRMapping &captures,
                                   int64_t rows) {
  auto resized = [&](Type type) {
    return withRows(cast<RankedTensorType>(type), rows);
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(
        builder, op->getLoc(),
        cast<SplatElementsAttr>(constant.getValue())
            .resizeSplat(resized(constant.getType())));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return tensor::ExpandShapeOp::create(
        builder, op->getLoc(), resized(expand.getType()), operands[0],
        expand.getReassociationIndices());
  Operation *clone = builder.clone(*op, captures);
  if (auto profiled = dyn_cast<cs::ProfiledOp>(clone)) {
    auto type = cast<RankedTensorType>(op->getResultTypes().front());
    // ceil, so that no part is free.
    auto part = [&](int64_t all) {
      double exact = static_cast<double>(all) * static_cast<double>(rows) /
                     static_cast<double>(type.getDimSize(0));
      return static_cast<int64_t>(std::ceil(exact));
    };
    cs::CostAttr cost = profiled.getCost();
    profiled.setCostAttr(cs::CostAttr::get(
        cost.getContext(), part(cost.getFlops()), part(cost.getBytes()),
        part(cost.getNs())));
  }
  clone->setOperands(operands);
  for (Value result : clone->getResults())
    result.setType(resized(result.getType()));
  return clone;
}
