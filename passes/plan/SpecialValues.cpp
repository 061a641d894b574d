// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that upstream folds, expands or approximates otherwise than C's library at
// some numbers: zeros, infinities, NaN, subnormal ones (MLIR 22).

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace commsched::planexport {

// A constant of a float type, or of tensors of one.
static Value numberOf(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

void keepAnglesOfZero(func::FuncOp function) {
  function.walk([](math::Atan2Op op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value y = op.getLhs(), x = op.getRhs(), zero = numberOf(builder, loc, x.getType(), 0);
    auto isZero = [&](Value value) {
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value, zero);
    };
    Value both = arith::AndIOp::create(builder, loc, isZero(y), isZero(x));
    Value side = math::CopySignOp::create(builder, loc, numberOf(builder, loc, x.getType(), 1), x);
    op.getRhsMutable().assign(arith::SelectOp::create(builder, loc, both, side, x));
  });
}

// Powers of these become square roots, which differ for -0 and -inf.
static bool becomesRoots(math::PowFOp power) {
  FloatAttr exponent;
  DenseFPElementsAttr exponents;
  if (matchPattern(power.getRhs(), m_Constant(&exponents)) && exponents.isSplat())
    exponent = FloatAttr::get(exponents.getElementType(), exponents.getSplatValue<APFloat>());
  else if (!matchPattern(power.getRhs(), m_Constant(&exponent)))
    return false;
  double value = exponent.getValueAsDouble();
  return std::fabs(value) == 0.5 || value == 0.75;
}

void mendFunctions(ModuleOp module) {
  module->walk([](math::PowFOp power) {
    if (!becomesRoots(power))
      return;
    OpBuilder builder(power);
    Location loc = power.getLoc();
    Value x = power.getLhs();
    Type type = x.getType();
    double infinity = std::numeric_limits<double>::infinity();
    Value below = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, x,
                                        numberOf(builder, loc, type, -infinity));
    Value positive = arith::AddFOp::create(builder, loc, x, numberOf(builder, loc, type, 0));
    power.getLhsMutable().assign(arith::SelectOp::create(
        builder, loc, below, numberOf(builder, loc, type, infinity), positive));
  });
  module->walk([](Operation *op) {
    if (!isa<math::LogOp, math::ErfOp>(op) || !getElementTypeOrSelf(op->getResult(0)).isF32())
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value x = op->getOperand(0);
    auto number = [&](float value) { return numberOf(builder, loc, x.getType(), value); };
    if (isa<math::ErfOp>(op)) {
      builder.setInsertionPointAfter(op);
      auto mended = math::CopySignOp::create(builder, loc, op->getResult(0), x);
      op->getResult(0).replaceAllUsesExcept(mended, mended);
      return;
    }
    constexpr float kLeast = 0x1p-126f, kScale = 0x1p25f, kLogOfScale = 17.3286795f;
    Value small = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, number(kLeast));
    Value scaled = arith::MulFOp::create(builder, loc, x, number(kScale));
    op->setOperand(0, arith::SelectOp::create(builder, loc, small, scaled, x));
    builder.setInsertionPointAfter(op);
    Value less = arith::SelectOp::create(builder, loc, small, number(kLogOfScale), number(0));
    auto mended = arith::SubFOp::create(builder, loc, op->getResult(0), less);
    op->getResult(0).replaceAllUsesExcept(mended, mended);
  });
}

// base^exponent modulo 2^width, by squaring; of a negative exponent the quotient 1 /
// base^-exponent.
static Value integerPower(OpBuilder &builder, Location loc, Value base, Value exponent) {
  Type type = base.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  };
  auto times = [&](Value a, Value b) -> Value { return arith::MulIOp::create(builder, loc, a, b); };
  auto choose = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  auto equals = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  };
  APInt known;
  if (matchPattern(exponent, m_ConstantInt(&known)) && known.isNonNegative()) {
    Value result;
    for (unsigned bit = 0; bit < known.getActiveBits(); ++bit) {
      if (bit != 0)
        base = times(base, base);
      if (known[bit])
        result = result ? times(result, base) : base;
    }
    return result ? result : number(1);
  }
  Value one = number(1), minusOne = number(-1), zero = number(0);
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); };
  auto squaring = scf::ForOp::create(
      builder, loc, index(0), index(width), index(1), ValueRange{one, base, exponent},
      [&](OpBuilder &inner, Location, Value, ValueRange carried) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
        Value result = carried[0], square = carried[1], left = carried[2];
        Value odd = equals(arith::AndIOp::create(builder, loc, left, one), one);
        scf::YieldOp::create(
            builder, loc,
            ValueRange{choose(odd, times(result, square), result), times(square, square),
                       arith::ShRUIOp::create(builder, loc, left, one)});
      });
  Value odd = equals(arith::AndIOp::create(builder, loc, exponent, one), one);
  Value inverse = choose(equals(base, one), one,
                         choose(equals(base, minusOne), choose(odd, minusOne, one), zero));
  Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, exponent, zero);
  return choose(negative, inverse, squaring.getResult(0));
}

void expandFunctions(ModuleOp module) {
  module->walk([](Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value result;
    if (auto clamp = dyn_cast<math::ClampFOp>(op)) {
      Value above = arith::MaximumFOp::create(builder, loc, clamp.getValue(), clamp.getMin());
      result = arith::MinimumFOp::create(builder, loc, above, clamp.getMax());
    } else if (isa<math::IsInfOp, math::IsNormalOp>(op)) {
      Type type = op->getOperand(0).getType();
      const llvm::fltSemantics &format = cast<FloatType>(type).getFloatSemantics();
      auto number = [&](const APFloat &value) {
        return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
      };
      Value size = math::AbsFOp::create(builder, loc, op->getOperand(0));
      Value infinity = number(APFloat::getInf(format));
      if (isa<math::IsInfOp>(op)) {
        result = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, size, infinity);
      } else {
        Value least = number(APFloat::getSmallestNormalized(format));
        result = arith::AndIOp::create(
            builder, loc,
            arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, size, infinity),
            arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, size, least));
      }
    } else if (auto power = dyn_cast<math::IPowIOp>(op)) {
      result = integerPower(builder, loc, power.getLhs(), power.getRhs());
    } else if (auto power = dyn_cast<math::FPowIOp>(op)) {
      // Of a constant it becomes multiplications, else a call into a compiler's library.
      if (matchPattern(power.getRhs(), m_Constant()))
        return;
      Type type = power.getType(), f64 = builder.getF64Type();
      Value base = power.getLhs();
      if (!type.isF64())
        base = arith::ExtFOp::create(builder, loc, f64, base);
      result = math::PowFOp::create(builder, loc, base,
                                    arith::SIToFPOp::create(builder, loc, f64, power.getRhs()));
      if (!type.isF64())
        result = arith::TruncFOp::create(builder, loc, type, result);
    } else {
      return;
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}

// A constant of an integer type, or of tensors of one.
static Value wholeOf(OpBuilder &builder, Location loc, Type type, const APInt &value) {
  TypedAttr attr = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, cast<IntegerAttr>(attr).getValue());
  return arith::ConstantOp::create(builder, loc, attr);
}

static unsigned widthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? IndexType::kInternalStorageBitWidth : element.getIntOrFloatBitWidth();
}

static void defineDivision(Operation *op) {
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  bool isQuotient = isa<arith::DivSIOp, arith::DivUIOp>(op);
  Value left = op->getOperand(0), right = op->getOperand(1);
  Type type = right.getType();
  APInt known;
  if (matchPattern(right, m_ConstantInt(&known)) && !known.isZero() && !(isSigned && known.isAllOnes()))
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  unsigned width = widthOf(type);
  auto number = [&](const APInt &value) { return wholeOf(builder, loc, type, value); };
  auto equals = [&](Value a, const APInt &b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, number(b));
  };
  Value byZero = equals(right, APInt::getZero(width)), unsafe = byZero;
  if (isSigned && width > 1) {
    Value overflows = arith::AndIOp::create(builder, loc, equals(left, APInt::getSignedMinValue(width)),
                                            equals(right, APInt::getAllOnes(width)));
    unsafe = arith::OrIOp::create(builder, loc, byZero, overflows);
  }
  op->setOperand(1, arith::SelectOp::create(builder, loc, unsafe, number(APInt(width, 1)), right));
  builder.setInsertionPointAfter(op);
  Value ofZero = isQuotient ? number(APInt::getAllOnes(width)) : left;
  auto defined = arith::SelectOp::create(builder, loc, byZero, ofZero, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(defined, defined);
}

static void defineShift(Operation *op) {
  Value amount = op->getOperand(1);
  Type type = amount.getType();
  unsigned width = widthOf(type);
  APInt known;
  if (matchPattern(amount, m_ConstantInt(&known)) && known.ult(width))
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto number = [&](uint64_t value) { return wholeOf(builder, loc, type, APInt(width, value)); };
  Value last = number(width - 1);
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, amount, last);
  op->setOperand(1, arith::SelectOp::create(builder, loc, inside, amount, last));
  if (isa<arith::ShRSIOp>(op)) // the sign is all that is left
    return;
  builder.setInsertionPointAfter(op);
  auto defined = arith::SelectOp::create(builder, loc, inside, op->getResult(0), number(0));
  op->getResult(0).replaceAllUsesExcept(defined, defined);
}

void defineIntegers(ModuleOp module) {
  module->walk([](Operation *op) {
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
      defineDivision(op);
    else if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
      defineShift(op);
  });
}

} // namespace commsched::planexport
