// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The targets have no arithmetic on bf16, and f16 only by conversion: what is
// computed in either is computed in f32, and rounded when it is stored or
// compared, not after every operation. Conversions of bf16 are integer arithmetic: LLVM would
// call a function of its runtime library, which no process has to have.

#include "passes/plan/HalfArithmetic.h"
#include "passes/plan/HalfSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace commsched::planexport {

// Whether `op` only moves bits, or converts them.
static bool movesOnly(Operation *op) {
  return isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp,
             arith::TruncFOp>(op);
}

// Whether a number that is not rounded yet could give something else than a
// number nearby: `x == max(x)` must find the x that became the maximum, and what
// overflows f16 must not be finite.
static bool seesRounding(Operation *op) {
  return !llvm::all_of(op->getResultTypes(), isHalf) ||
         isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
             arith::RemFOp, math::CeilOp, math::FloorOp, math::RoundOp,
             math::RoundEvenOp, math::TruncOp, math::ClampFOp>(op);
}

// The op in f32. A conversion back and the next one forth are one that does
// nothing if both say `contract`.
static void computeWide(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type f32 = builder.getF32Type();
  auto contract = arith::FastMathFlagsAttr::get(op->getContext(),
                                                arith::FastMathFlags::contract);
  auto flags = seesRounding(op) ? arith::FastMathFlagsAttr() : contract;
  OperationState state(loc, op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(
        isHalf(operand.getType())
            ? arith::ExtFOp::create(builder, loc, f32, operand, flags).getResult()
            : operand);
  for (Type type : op->getResultTypes())
    state.addTypes(isHalf(type) ? f32 : type);
  state.addAttributes(op->getAttrs());
  Operation *wide = builder.create(state);
  for (auto [old, result] : llvm::zip(op->getResults(), wide->getResults())) {
    Value value = result;
    if (isHalf(old.getType()))
      value = arith::TruncFOp::create(builder, loc, old.getType(), value,
                                      arith::RoundingModeAttr(), contract);
    old.replaceAllUsesWith(value);
  }
  op->erase();
}

// f64 to f32 so that rounding the result again is as rounding once: what is not
// exact becomes the neighbour whose last bit is set.
static Value roundToOdd(OpBuilder &builder, Location loc, Value value) {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  auto constant = [&](int32_t v) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(v));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  Value nearest = arith::TruncFOp::create(builder, loc, f32, value);
  Value back = arith::ExtFOp::create(builder, loc, value.getType(), nearest);
  Value bits = arith::BitcastOp::create(builder, loc, i32, nearest);
  Value even = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      arith::AndIOp::create(builder, loc, bits, constant(1)), constant(0));
  Value step = arith::SelectOp::create(
      builder, loc,
      compare(arith::CmpFPredicate::OLT, math::AbsFOp::create(builder, loc, back),
              math::AbsFOp::create(builder, loc, value)),
      constant(1), constant(-1));
  Value moved = arith::AddIOp::create(builder, loc, bits, step);
  Value inexact = compare(arith::CmpFPredicate::ONE, back, value);
  Value move = arith::AndIOp::create(builder, loc, inexact, even);
  return arith::BitcastOp::create(
      builder, loc, f32, arith::SelectOp::create(builder, loc, move, moved, bits));
}

// Conversions are between f32 and 16 bits.
static void convertByF32(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type f32 = builder.getF32Type();
  if (auto extend = dyn_cast<arith::ExtFOp>(op)) {
    if (isHalf(extend.getIn().getType()) && !extend.getType().isF32())
      extend.getInMutable().assign(
          arith::ExtFOp::create(builder, loc, f32, extend.getIn()));
  } else if (auto truncate = dyn_cast<arith::TruncFOp>(op)) {
    if (isHalf(truncate.getType()) && truncate.getIn().getType().isF64())
      truncate.getInMutable().assign(roundToOdd(builder, loc, truncate.getIn()));
  }
}

void widenHalves(ModuleOp module) {
  SmallVector<Operation *> computed, conversions;
  module->walk([&](Operation *op) {
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      return;
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      conversions.push_back(op);
    else if (!movesOnly(op) && (llvm::any_of(op->getOperandTypes(), isHalf) ||
                                llvm::any_of(op->getResultTypes(), isHalf)))
      computed.push_back(op);
  });
  for (Operation *op : computed)
    computeWide(op);
  for (Operation *op : conversions)
    convertByF32(op);
}

LogicalResult expandHalves(ModuleOp module) {
  RewritePatternSet patterns(module->getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

// bf16 as the integer of its bits, also inside of `type`.
static Type asInteger(Type type) {
  if (type.isBF16())
    return IntegerType::get(type.getContext(), 16);
  if (auto function = dyn_cast<LLVM::LLVMFunctionType>(type)) {
    SmallVector<Type> params;
    for (Type param : function.getParams())
      params.push_back(asInteger(param));
    return LLVM::LLVMFunctionType::get(asInteger(function.getReturnType()), params,
                                       function.isVarArg());
  }
  return type;
}

static void storeAsInteger(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(asInteger(argument.getType()));
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    function.setFunctionType(
        cast<LLVM::LLVMFunctionType>(asInteger(function.getFunctionType())));
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    if (std::optional<LLVM::LLVMFunctionType> type = call.getVarCalleeType())
      call.setVarCalleeType(cast<LLVM::LLVMFunctionType>(asInteger(*type)));
  if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
    if (auto value = dyn_cast<FloatAttr>(constant.getValue());
        value && value.getType().isBF16())
      constant.setValueAttr(
          IntegerAttr::get(asInteger(value.getType()), value.getValue().bitcastToAPInt()));
  for (Value result : op->getResults())
    result.setType(asInteger(result.getType()));
  if (auto cast = dyn_cast<LLVM::BitcastOp>(op);
      cast && cast.getArg().getType() == cast.getType()) {
    cast.getResult().replaceAllUsesWith(cast.getArg());
    cast.erase();
  }
}

LogicalResult storeHalvesAsIntegers(ModuleOp module) {
  auto narrow = [](Type type) { return type.isBF16(); };
  SmallVector<Operation *> moves;
  WalkResult walk = module->walk([&](Operation *op) {
    if (isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::BitcastOp, LLVM::SelectOp, LLVM::ConstantOp,
            LLVM::UndefOp, LLVM::PoisonOp, LLVM::ZeroOp, LLVM::CallOp, LLVM::ReturnOp,
            LLVM::BrOp, LLVM::CondBrOp, LLVM::LLVMFuncOp>(op)) {
      moves.push_back(op);
      return WalkResult::advance();
    }
    if (llvm::any_of(op->getOperandTypes(), narrow) ||
        llvm::any_of(op->getResultTypes(), narrow)) {
      op->emitError("computes in bf16, which fragments do in f32");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (Operation *op : moves)
    storeAsInteger(op);
  return success();
}

} // namespace commsched::planexport
