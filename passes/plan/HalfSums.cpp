// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/HalfSums.h"
#include "passes/plan/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace commsched::planexport {

bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

// The op that combines accumulator `r` with what is reduced, if it is one that
// f32 does as well or better.
static Operation *findCombiner(linalg::GenericOp op, unsigned r) {
  Block *body = op.getBody();
  Value out = body->getArgument(op.getNumDpsInputs() + r);
  Operation *def = body->getTerminator()->getOperand(r).getDefiningOp();
  if (!def || def->getBlock() != body || !out.hasOneUse() || !def->hasOneUse() ||
      !llvm::is_contained(def->getOperands(), out) ||
      !isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
           arith::MaxNumFOp, arith::MinNumFOp>(def))
    return nullptr;
  return def;
}

static bool readsWider(linalg::GenericOp op) {
  return llvm::any_of(op.getDpsInputs(), [](Value input) {
    auto type = dyn_cast<FloatType>(getElementTypeOrSelf(input.getType()));
    return type && type.getWidth() > 16;
  });
}

// `value` in f32, for a sum or product: not rounded first, if it is computed here.
static Value widen(OpBuilder &builder, Location loc, Value value) {
  Type f32 = builder.getF32Type();
  if (auto product = value.getDefiningOp<arith::MulFOp>();
      product && product->hasOneUse())
    return arith::MulFOp::create(builder, loc, widen(builder, loc, product.getLhs()),
                                 widen(builder, loc, product.getRhs()));
  return arith::ExtFOp::create(
      builder, loc, f32, value,
      arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::contract));
}

// The body of `op` with accumulator `r` in f32. Its operand is still narrow.
static void widenBody(linalg::GenericOp op, unsigned r, Operation *combiner) {
  Block *body = op.getBody();
  BlockArgument out = body->getArgument(op.getNumDpsInputs() + r);
  OpBuilder builder(combiner);
  out.setType(builder.getF32Type());
  OperationState state(combiner->getLoc(), combiner->getName());
  // An extreme is one of the numbers as they are stored.
  bool sum = isa<arith::AddFOp, arith::MulFOp>(combiner);
  for (Value operand : combiner->getOperands()) {
    if (operand != out)
      operand = sum ? widen(builder, combiner->getLoc(), operand)
                    : arith::ExtFOp::create(builder, combiner->getLoc(),
                                            builder.getF32Type(), operand);
    state.operands.push_back(operand);
  }
  state.addTypes(builder.getF32Type());
  state.addAttributes(combiner->getAttrs());
  Operation *wide = builder.create(state);
  SmallVector<Value> narrow(combiner->getOperands());
  body->getTerminator()->setOperand(r, wide->getResult(0));
  combiner->erase();
  for (Value value : narrow)
    if (auto product = value.getDefiningOp<arith::MulFOp>();
        product && product->use_empty())
      product->erase();
}

// Every element of `from` converted: into `to`, or into a new tensor.
static linalg::GenericOp convert(OpBuilder &builder, Location loc, Value from,
                                 Value to) {
  int64_t rank = cast<ShapedType>(from.getType()).getRank();
  AffineMap map = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto body = [](OpBuilder &b, Location l, ValueRange args) {
    Type target = args[1].getType();
    Value value;
    if (target.isF32())
      value = arith::ExtFOp::create(b, l, target, args[0]);
    else
      value = arith::TruncFOp::create(b, l, target, args[0]);
    linalg::YieldOp::create(b, l, value);
  };
  SmallVector<AffineMap> maps{map, map};
  if (isa<MemRefType>(to.getType()))
    return linalg::GenericOp::create(builder, loc, ValueRange{from}, ValueRange{to},
                                     maps, iterators, body);
  return linalg::GenericOp::create(builder, loc, to.getType(), ValueRange{from},
                                   ValueRange{to}, maps, iterators, body);
}

static Value emptyLike(OpBuilder &builder, Location loc, Value tensor, Type element) {
  return tensor::EmptyOp::create(
      builder, loc, cast<RankedTensorType>(tensor.getType()).getShape(), element);
}

// An initial value in f32.
static Value widenInit(OpBuilder &builder, Location loc, Value init) {
  Type f32 = builder.getF32Type();
  Value scalar;
  SplatElementsAttr splat;
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    scalar = fill.getInputs()[0];
  else if (matchPattern(init, m_Constant(&splat)))
    scalar = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value empty = emptyLike(builder, loc, init, f32);
  if (!scalar)
    return convert(builder, loc, init, empty).getResult(0);
  Value wide;
  FloatAttr constant;
  if (matchPattern(scalar, m_Constant(&constant))) {
    APFloat value = constant.getValue();
    bool lost;
    value.convert(llvm::APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
    wide = arith::ConstantOp::create(builder, loc, FloatAttr::get(f32, value));
  } else {
    wide = arith::ExtFOp::create(builder, loc, f32, scalar);
  }
  return linalg::FillOp::create(builder, loc, ValueRange{wide}, ValueRange{empty})
      .getResult(0);
}

static void widenResult(linalg::GenericOp op, unsigned r, Operation *combiner) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  OpOperand *init = op.getDpsInitOperand(r);
  Type narrow = getElementTypeOrSelf(init->get().getType());
  init->set(widenInit(builder, loc, init->get()));
  widenBody(op, r, combiner);
  Value result = op->getResult(r);
  result.setType(init->get().getType());
  builder.setInsertionPointAfter(op);
  Value empty = emptyLike(builder, loc, result, narrow);
  linalg::GenericOp rounded = convert(builder, loc, result, empty);
  result.replaceAllUsesExcept(rounded.getResult(0), rounded);
}

void widenSums(func::FuncOp function) {
  SmallVector<linalg::GenericOp> reductions;
  function.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() > 0 && op.hasPureTensorSemantics() &&
        !readsWider(op) && !kernelFamily(op))
      reductions.push_back(op);
  });
  for (linalg::GenericOp op : reductions)
    for (unsigned r = 0; r < op->getNumResults(); ++r)
      if (isHalf(getElementTypeOrSelf(op->getResult(r).getType())))
        if (Operation *combiner = findCombiner(op, r))
          widenResult(op, r, combiner);
}

void widenSum(linalg::GenericOp op) {
  OpOperand *init = op.getDpsInitOperand(0);
  auto type = cast<MemRefType>(init->get().getType());
  Operation *combiner = findCombiner(op, 0);
  if (!isHalf(type.getElementType()) || !combiner)
    return;
  Location loc = op.getLoc();
  OpBuilder builder(op);
  Value narrow = init->get();
  Value wide = memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), builder.getF32Type()));
  convert(builder, loc, narrow, wide);
  init->set(wide);
  widenBody(op, 0, combiner);
  builder.setInsertionPointAfter(op);
  convert(builder, loc, wide, narrow);
}

} // namespace commsched::planexport
