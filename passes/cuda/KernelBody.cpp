// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/cuda/KernelBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::cudaexport {

KernelBody::KernelBody(linalg::GenericOp op, const NestShape &shape)
    : op(op), shape(shape), builder(op), loc(op.getLoc()), sizes(op.getStaticLoopRanges()) {
  // Neither a counter nor what is added to it before it is compared may overflow.
  bool large = std::max(shape.outputs, shape.terms) >= int64_t(1) << 30;
  counter = builder.getIntegerType(large ? 64 : 32);
  if (std::optional<SmallVector<Operation *>> known = combinersOf(op))
    combiners = *known;
}

Value KernelBody::count(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(counter, value));
}

Value KernelBody::word(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
}

Value KernelBody::asIndex(Value value) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), value);
}

Value KernelBody::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }

Value KernelBody::times(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, loc, a, count(b)).getResult();
}

Value KernelBody::over(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, loc, a, count(b)).getResult();
}

Value KernelBody::modulo(Value a, int64_t b) {
  return b == 1 ? count(0) : arith::RemUIOp::create(builder, loc, a, count(b)).getResult();
}

Value KernelBody::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value KernelBody::ask(StringRef function) {
  Value value = call(function, {}, builder.getI32Type());
  if (!counter.isInteger(32))
    value = arith::ExtUIOp::create(builder, loc, counter, value);
  return value;
}

void KernelBody::where(Value condition, llvm::function_ref<void()> then) {
  if (!condition)
    return then();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
}

KernelBody::Values KernelBody::choose(Value condition, llvm::function_ref<Values()> then,
                                      ValueRange otherwise) {
  if (!condition)
    return then();
  auto branch = scf::IfOp::create(builder, loc, otherwise.getTypes(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, then());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise);
  return Values(branch.getResults());
}

KernelBody::Values KernelBody::loop(Value from, Value to, int64_t step, ValueRange carried,
                                    llvm::function_ref<Values(Value, ValueRange)> each) {
  auto made = scf::ForOp::create(builder, loc, from, to, count(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  if (Block *body = made.getBody(); !body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  builder.setInsertionPointToStart(made.getBody());
  scf::YieldOp::create(builder, loc, each(made.getInductionVar(), made.getRegionIterArgs()));
  return Values(made.getResults());
}

void KernelBody::locate(Value flat, ArrayRef<unsigned> loops, Values &indices) {
  for (unsigned loop : llvm::reverse(loops)) {
    bool last = loop == loops.front();
    indices[loop] = asIndex(last ? flat : modulo(flat, sizes[loop]));
    if (!last)
      flat = over(flat, sizes[loop]);
  }
}

KernelBody::Values KernelBody::indicesOf(OpOperand &operand, ValueRange indices) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Values result;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      result.push_back(indices[dim.getPosition()]);
      continue;
    }
    auto part = AffineMap::get(map.getNumDims(), 0, expr);
    result.push_back(affine::AffineApplyOp::create(builder, loc, part, indices));
  }
  return result;
}

Value KernelBody::load(OpOperand &operand, ValueRange indices) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(builder, loc, operand.get(), indicesOf(operand, indices));
}

KernelBody::Values KernelBody::loadOutputs(ValueRange indices, bool all) {
  Values values;
  if (auto initial = op->getParentOfType<func::FuncOp>()->getAttrOfType<TypedAttr>(kInitialAttr))
    return {arith::ConstantOp::create(builder, loc, initial)};
  for (OpOperand &init : op.getDpsInitsMutable())
    values.push_back(all || op.payloadUsesValueFromOperand(&init) ? load(init, indices) : Value());
  return values;
}

void KernelBody::storeOutputs(ValueRange values, ValueRange indices) {
  for (auto [value, init] : llvm::zip(values, op.getDpsInitsMutable()))
    memref::StoreOp::create(builder, loc, value, init.get(), indicesOf(init, indices));
}

KernelBody::Values KernelBody::evaluate(ValueRange indices, ValueRange outputs) {
  IRMapping mapping;
  Block *body = op.getBody();
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = body->getArgument(input->getOperandNumber());
    if (!argument.use_empty())
      mapping.map(argument, load(*input, indices));
  }
  for (auto [value, init] : llvm::zip(outputs, op.getDpsInitsMutable()))
    if (value)
      mapping.map(body->getArgument(init.getOperandNumber()), value);
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    Operation *clone = builder.clone(inner, mapping);
    SmallVector<linalg::IndexOp> nested;
    clone->walk([&](linalg::IndexOp index) { nested.push_back(index); });
    for (linalg::IndexOp index : nested) {
      index.getResult().replaceAllUsesWith(indices[index.getDim()]);
      index.erase();
    }
  }
  Values yielded;
  for (Value value : body->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

KernelBody::Values KernelBody::combine(ValueRange a, ValueRange b) {
  Values result;
  Block *body = op.getBody();
  for (auto [i, combiner] : llvm::enumerate(combiners)) {
    BlockArgument out = body->getArgument(op.getDpsInitOperand(i)->getOperandNumber());
    IRMapping mapping;
    for (Value operand : combiner->getOperands())
      mapping.map(operand, operand == out ? a[i] : b[i]);
    result.push_back(builder.clone(*combiner, mapping)->getResult(0));
  }
  return result;
}

KernelBody::Values KernelBody::identities() {
  Values result;
  for (Operation *combiner : combiners) {
    TypedAttr value = *arith::getNeutralElement(combiner);
    // -0 + x is x for both zeros.
    if (isa<arith::AddFOp>(combiner))
      value = builder.getFloatAttr(combiner->getResult(0).getType(), -0.0);
    result.push_back(arith::ConstantOp::create(builder, loc, value));
  }
  return result;
}

void KernelBody::elementwise() {
  Value block = ask(kBlock), thread = ask(kThread);
  Value begin = times(block, shape.columns);
  Value flat = add(begin, thread);
  Value inside = shape.outputs % shape.columns ? less(flat, count(shape.outputs)) : Value();
  where(inside, [&] {
    Values indices(sizes.size());
    locate(flat, shape.parallel, indices);
    storeOutputs(evaluate(indices, loadOutputs(indices, /*all=*/false)), indices);
  });
}

} // namespace commsched::cudaexport
