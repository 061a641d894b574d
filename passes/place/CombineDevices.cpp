// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/CombineDevices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "passes/place/Devices.h"

using namespace mlir;
using namespace commsched;

static Value combineTwo(OpBuilder &builder, Location loc,
                        cs::Reduction reduction, Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  switch (reduction) {
  case cs::Reduction::sum:
  case cs::Reduction::mean:
    if (isFloat)
      return arith::AddFOp::create(builder, loc, a, b);
    return arith::AddIOp::create(builder, loc, a, b);
  case cs::Reduction::max:
    if (isFloat)
      return arith::MaximumFOp::create(builder, loc, a, b);
    return arith::MaxSIOp::create(builder, loc, a, b);
  case cs::Reduction::min:
    if (isFloat)
      return arith::MinimumFOp::create(builder, loc, a, b);
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("no such reduction");
}

Value place::combine(OpBuilder &builder, Location loc, StringRef label,
                     cs::Reduction reduction, ValueRange values,
                     bool withBody) {
  cs::PlacedType placed = placedType(values.front());
  RankedTensorType type = placed.getTensor();
  auto count = static_cast<int64_t>(values.size());
  bool scales = reduction == cs::Reduction::mean;
  auto cost = cs::CostAttr::get(
      builder.getContext(), type.getNumElements() * (count - 1 + scales),
      bytesOf(placed) * (count + 1), /*ns=*/0);
  auto fragment = cs::FragmentOp::create(builder, loc, Type(placed), label,
                                         placed.getDevice(), values, cost,
                                         /*deferred=*/true);
  if (!withBody)
    return fragment.getOutputs().front();
  auto *body = new Block;
  fragment.getBody().push_back(body);
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  for (Value value : values)
    body->addArgument(type, value.getLoc());
  Value result = body->getArgument(0);
  for (BlockArgument other : body->getArguments().drop_front())
    result = combineTwo(inside, loc, reduction, result, other);
  if (scales) {
    auto factor = DenseElementsAttr::get(
        type, FloatAttr::get(type.getElementType(), 1.0 / double(count)));
    result = arith::MulFOp::create(
        inside, loc, result, arith::ConstantOp::create(inside, loc, factor));
  }
  cs::ReturnOp::create(inside, loc, result);
  return fragment.getOutputs().front();
}

static bool combinesTwo(Operation *op, cs::Reduction reduction) {
  switch (reduction) {
  case cs::Reduction::sum:
    return isa<arith::AddFOp, arith::AddIOp>(op);
  case cs::Reduction::mean:
    return isa<arith::AddFOp>(op);
  case cs::Reduction::max:
    return isa<arith::MaximumFOp, arith::MaxSIOp>(op);
  case cs::Reduction::min:
    return isa<arith::MinimumFOp, arith::MinSIOp>(op);
  }
  llvm_unreachable("no such reduction");
}

bool place::combines(cs::FragmentOp fragment, cs::Reduction reduction) {
  Block &body = fragment.getBody().front();
  auto count = body.getNumArguments();
  if (count == 0 || fragment.getOutputs().size() != 1)
    return false;
  Value value = body.getTerminator()->getOperand(0);
  if (reduction == cs::Reduction::mean) {
    auto scale = value.getDefiningOp<arith::MulFOp>();
    DenseElementsAttr factor;
    if (!scale || !matchPattern(scale.getRhs(), m_Constant(&factor)) || !factor.isSplat())
      return false;
    Type element = factor.getElementType();
    if (factor.getSplatValue<Attribute>() != FloatAttr::get(element, 1.0 / double(count)))
      return false;
    value = scale.getLhs();
  }
  for (unsigned i = count - 1; i > 0; --i) {
    Operation *op = value.getDefiningOp();
    if (!op || !combinesTwo(op, reduction) || op->getOperand(1) != body.getArgument(i))
      return false;
    value = op->getOperand(0);
  }
  return value == body.getArgument(0);
}
