// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// arith on floats, and conversions from and to them.

#include "reference/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <cstring>

using namespace mlir;
using namespace commsched::reference;

/// The bound of a result that is not finite, or has an operand that is not: of the
/// class that the exact operands make, if those with bounds cannot change it.
static double boundOfInfinite(double result, const Scalar &a, const Scalar &b) {
  if (a.bound == kUndetermined || b.bound == kUndetermined)
    return kUndetermined;
  if (a.bound == 0 && b.bound == 0)
    return 0;
  // NaN stays NaN.
  if ((std::isnan(a.value) && a.bound == 0) || (std::isnan(b.value) && b.bound == 0))
    return 0;
  bool infinite = std::isinf(a.value) || std::isinf(b.value);
  return infinite && std::isinf(result) ? 0 : kUndetermined;
}

/// What two doubles make is not exact; `off` is what it lacks.
static double lackOfSum(double a, double b, double sum) {
  double part = sum - a;
  return std::fabs((a - (sum - part)) + (b - part));
}

template <int sign>
static void runAdd(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  double other = sign * b.value, sum = a.value + other;
  if (!std::isfinite(sum)) {
    out.value = sum;
    bool overflow = std::isfinite(a.value) && std::isfinite(b.value);
    out.bound = overflow && a.bound + b.bound != 0 ? kUndetermined : boundOfInfinite(sum, a, b);
    return;
  }
  store(out, *i.format, sum, lackOfSum(a.value, other, sum), a.bound + b.bound, true);
}

static double spreadOfProduct(const Scalar &a, const Scalar &b) {
  if (a.bound == 0 && b.bound == 0)
    return 0;
  return std::fabs(a.value) * b.bound + std::fabs(b.value) * a.bound + a.bound * b.bound;
}

static void runMul(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  double product = a.value * b.value;
  if (!std::isfinite(product)) {
    out.value = product;
    // Zero, or of the other sign, within its bound?
    bool moves = (a.bound != 0 && std::fabs(a.value) <= a.bound) ||
                 (b.bound != 0 && std::fabs(b.value) <= b.bound);
    bool overflow = std::isfinite(a.value) && std::isfinite(b.value);
    out.bound = moves || overflow ? kUndetermined : boundOfInfinite(product, a, b);
    return;
  }
  double off = i.format->precision == 53 ? std::fabs(std::fma(a.value, b.value, -product)) : 0;
  store(out, *i.format, product, off, spreadOfProduct(a, b));
  // As part of a contraction it would not be infinite.
  if (std::isinf(out.value))
    out.bound = kUndetermined;
}

static void runDiv(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  double quotient = a.value / b.value;
  bool exact = a.bound == 0 && b.bound == 0;
  if (!exact && !(std::fabs(b.value) > b.bound)) {
    out.value = i.format->round(quotient);
    out.bound = std::isnan(b.value) ? boundOfInfinite(quotient, a, b) : kUndetermined;
    return;
  }
  if (!std::isfinite(quotient) || std::isinf(b.value)) {
    out.value = i.format->round(quotient);
    out.bound = std::isinf(b.value) && std::isfinite(a.value) && a.bound < kUndetermined
                    ? 0
                    : boundOfInfinite(quotient, a, b);
    return;
  }
  double off = std::fabs(std::fma(-quotient, b.value, a.value) / b.value);
  double spread = exact ? 0
                        : (a.bound + std::fabs(quotient) * b.bound) /
                              (std::fabs(b.value) - b.bound);
  store(out, *i.format, quotient, off, spread);
}

static void runRem(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  out.value = i.format->round(std::fmod(a.value, b.value));
  if (a.bound == 0 && b.bound == 0) {
    out.bound = 0;
    return;
  }
  bool sameQuotient = b.bound == 0 && std::trunc((a.value - a.bound) / b.value) ==
                                          std::trunc((a.value + a.bound) / b.value);
  // Otherwise anything with a magnitude below the divisor's.
  out.bound = bounded(sameQuotient ? a.bound : 2 * std::fabs(b.value) + b.bound);
  if (!std::isfinite(out.value))
    out.bound = kUndetermined;
}

static void runNeg(const Instruction &i, Machine &m) {
  const Scalar &a = m.in(i, 0);
  Scalar &out = m.out(i);
  double bound = a.bound;
  out.value = -a.value;
  out.bound = bound;
}

/// The larger of two if `sign` is 1; NaN of an operand is the result, or is not.
template <int sign, bool keepsNaN>
static void runMost(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  if (std::isnan(a.value) || std::isnan(b.value)) {
    const Scalar &nan = std::isnan(a.value) ? a : b, &other = std::isnan(a.value) ? b : a;
    out.value = keepsNaN ? nan.value : other.value;
    out.bound = nan.bound != 0 ? kUndetermined : keepsNaN ? 0
                                                          : other.bound;
    return;
  }
  // -0 is below +0, as IEEE 754's maximum and minimum have it.
  bool first = a.value == b.value ? std::signbit(a.value) == (sign < 0)
                                  : sign * a.value > sign * b.value;
  out.value = first ? a.value : b.value;
  // Infinite operands have no bound.
  double gap = std::fabs(a.value - b.value);
  const Scalar &taken = out.value == a.value ? a : b;
  bool settled = a.value != b.value && gap > a.bound + b.bound;
  out.bound = settled ? taken.bound : std::max(a.bound, b.bound);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static bool decide(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::OEQ:
    return !unordered && a == b;
  case P::OGT:
    return !unordered && a > b;
  case P::OGE:
    return !unordered && a >= b;
  case P::OLT:
    return !unordered && a < b;
  case P::OLE:
    return !unordered && a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  }
  return false;
}

static void runCmp(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  auto predicate = static_cast<arith::CmpFPredicate>(i.immediate);
  bool unordered = std::isnan(a.value) || std::isnan(b.value);
  double sum = a.bound + b.bound;
  bool settled = sum == 0 || (unordered && sum < kUndetermined) ||
                 std::fabs(a.value - b.value) > sum;
  // What is bounded is a number, and equal to itself (`x != x` asks for NaN).
  bool itself = i.operands[0] == i.operands[1];
  if ((itself || predicate == arith::CmpFPredicate::ORD || predicate == arith::CmpFPredicate::UNO) &&
      sum < kUndetermined)
    settled = true;
  Scalar &out = m.out(i);
  out.integer = decide(predicate, a.value, b.value);
  out.bound = settled ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static void runToFloat(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  double value, off;
  if (i.immediate) {
    uint64_t bits = static_cast<uint64_t>(a.integer);
    if (i.fromWidth < 64)
      bits &= (uint64_t(1) << i.fromWidth) - 1;
    value = static_cast<double>(bits);
    off = std::fabs(static_cast<double>(static_cast<long double>(bits) - value));
  } else {
    int64_t number = i.fromWidth == 1 ? -a.integer : a.integer;
    value = static_cast<double>(number);
    off = std::fabs(static_cast<double>(static_cast<long double>(number) - value));
  }
  store(out, *i.format, value, off, a.bound, true);
}

static void runToInt(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  double low = std::trunc(a.value - a.bound), high = std::trunc(a.value + a.bound);
  double value = std::trunc(a.value);
  double least = i.immediate || i.width == 1 ? 0 : -std::ldexp(1.0, i.width - 1);
  double limit = std::ldexp(1.0, i.immediate || i.width == 1 ? i.width : i.width - 1);
  if (!i.immediate && i.width == 1) { // -1 and 0
    least = -1;
    limit = 1;
  }
  bool inside = low >= least && high < limit && std::isfinite(a.bound);
  if (!(value >= least && value < limit)) {
    // What comes out of an overflow is not defined.
    out.integer = 0;
    out.bound = i.width == 1 ? 1 : kUndetermined;
    return;
  }
  int64_t number = i.immediate ? static_cast<int64_t>(static_cast<uint64_t>(value))
                               : static_cast<int64_t>(value);
  out.integer = wrap(number, i.width);
  out.bound = !inside ? kUndetermined : std::max(high - value, value - low);
  if (i.width == 1 && out.bound != 0)
    out.bound = 1;
}

static void runExtend(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  m.out(i).value = a.value;
  m.out(i).bound = a.bound;
}

static void runTruncate(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  if (!std::isfinite(a.value)) {
    out.value = a.value;
    out.bound = a.bound;
    return;
  }
  store(out, *i.format, a.value, 0, a.bound, true);
}

/// immediate: 0 integer to integer, 1 float to integer, 2 integer to float, 3 both.
static void runBitcast(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  out = a;
  if (i.immediate == 0 || i.immediate == 3)
    return;
  if (i.immediate == 1) {
    Type type = i.op->getOperand(0).getType();
    auto format = cast<FloatType>(getElementTypeOrSelf(type));
    APFloat value(a.value);
    bool losesInfo;
    value.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    out.integer = wrap(static_cast<int64_t>(value.bitcastToAPInt().getZExtValue()), i.width);
    // The bits of a NaN are not kept.
    out.bound = a.bound != 0 || std::isnan(a.value) ? kUndetermined : 0;
    return;
  }
  auto format = cast<FloatType>(getElementTypeOrSelf(i.op->getResult(0).getType()));
  uint64_t bits = static_cast<uint64_t>(a.integer);
  if (i.fromWidth < 64)
    bits &= (uint64_t(1) << i.fromWidth) - 1;
  APFloat value(format.getFloatSemantics(), APInt(format.getWidth(), bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  out.value = value.convertToDouble();
  out.bound = a.bound != 0 ? kUndetermined : 0;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static bool buildCmp(Operation *op, Instruction &instruction) {
  instruction.run = runCmp;
  instruction.immediate = static_cast<int64_t>(cast<arith::CmpFOp>(op).getPredicate());
  return true;
}

static bool buildTruncate(Operation *op, Instruction &instruction) {
  auto mode = cast<arith::TruncFOp>(op).getRoundingmode();
  instruction.run = runTruncate;
  return !mode || *mode == arith::RoundingMode::to_nearest_even;
}

static bool buildBitcast(Operation *, Instruction &instruction) {
  instruction.run = runBitcast;
  bool toFloat = instruction.format, fromFloat = instruction.from;
  instruction.immediate = toFloat && fromFloat ? 3 : toFloat ? 2
                                                 : fromFloat ? 1
                                                             : 0;
  // Between f16 and bf16 the bits mean another number.
  return instruction.immediate != 3 || instruction.format == instruction.from;
}

void commsched::reference::addFloatBuilders(ScalarBuilders &builders) {
  builders["arith.addf"] = build<runAdd<1>>;
  builders["arith.subf"] = build<runAdd<-1>>;
  builders["arith.mulf"] = build<runMul>;
  builders["arith.divf"] = build<runDiv>;
  builders["arith.remf"] = build<runRem>;
  builders["arith.negf"] = build<runNeg>;
  builders["arith.maximumf"] = build<runMost<1, true>>;
  builders["arith.minimumf"] = build<runMost<-1, true>>;
  builders["arith.maxnumf"] = build<runMost<1, false>>;
  builders["arith.minnumf"] = build<runMost<-1, false>>;
  builders["arith.cmpf"] = buildCmp;
  builders["arith.sitofp"] = build<runToFloat, 0>;
  builders["arith.uitofp"] = build<runToFloat, 1>;
  builders["arith.fptosi"] = build<runToInt, 0>;
  builders["arith.fptoui"] = build<runToInt, 1>;
  builders["arith.extf"] = build<runExtend>;
  builders["arith.truncf"] = buildTruncate;
  builders["arith.bitcast"] = buildBitcast;
}
