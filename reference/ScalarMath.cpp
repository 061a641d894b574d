// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions of the dialect math on floats.

#include "reference/Scalar.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace commsched::reference;

namespace {

double rsqrt(double x) { return 1 / std::sqrt(x); }

/// Units (half an ulp of 1) by which a function may be off: what docs/fragments.md
/// promises for f32, which other libraries keep too.
constexpr double kPolynomial = 16, kRoot = 6;

double unitsOf(const Instruction &i) { return static_cast<double>(i.immediate); }

/// `value` of a function that is computed in double, whose operands move it by `spread`.
void storeFunction(const Instruction &i, Scalar &out, double value, double spread,
                   double units) {
  const FloatFormat &format = *i.format;
  if (!std::isfinite(value)) {
    out.value = value;
    out.bound = spread == 0 ? 0 : kUndetermined;
    return;
  }
  // 16-bit formats compute it in f32.
  double unit = format.wideUnit != 0 ? format.wideUnit : format.unit;
  double off = units * unit * (std::fabs(value) + spread);
  // Some take numbers below the normal ones for zero.
  double normal = std::ldexp(1.0, std::max(format.minExponent, -1022));
  if (value != 0 && std::fabs(value) - spread < normal)
    off += format.wideUnit != 0 ? format.smallest : normal;
  if (units == 0)
    off = 0;
  double size = spread + off;
  store(out, format, value, 0, size);
  if (spread == 0 && units == 0 && format.wideUnit == 0 && std::isfinite(out.value))
    out.bound = 0;
}

/// Of a function that ascends or descends wherever it is defined.
void runMonotone(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  double value = i.function(a.value), spread = 0;
  // Values that are exact whatever computes them.
  bool exact = a.bound == 0 && (value == a.value || value == 0 || value == 1) &&
               (a.value == 0 || a.value == 1 || !std::isfinite(a.value));
  if (exact) {
    out.value = value;
    out.bound = 0;
    return;
  }
  if (a.bound != 0) {
    double low = i.function(a.value - a.bound), high = i.function(a.value + a.bound);
    spread = bounded(std::max(std::fabs(value - low), std::fabs(high - value)));
    if (std::isnan(low) || std::isnan(high))
      spread = kUndetermined;
  }
  if (spread == kUndetermined) {
    out.value = i.format->round(value);
    out.bound = kUndetermined;
    return;
  }
  storeFunction(i, out, value, spread, unitsOf(i));
}

/// Of a function whose derivative is nowhere above 1: sin, cos.
void runLipschitz(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  double value = i.function(a.value);
  if (a.bound == 0 && a.value == 0) {
    out.value = value;
    out.bound = 0;
    return;
  }
  // Near a zero of the function, what counts is the argument's own precision.
  double unit = i.format->wideUnit != 0 ? i.format->wideUnit : i.format->unit;
  double spread = a.bound + 2 * unit * std::min(std::fabs(a.value), 1.0);
  storeFunction(i, out, value, std::min(spread, 2.0), unitsOf(i));
  if (!std::isfinite(a.value) || a.bound == kUndetermined)
    out.bound = a.bound == 0 ? 0 : kUndetermined;
}

/// Even functions: ascending with the magnitude.
void runEven(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  double value = i.function(a.value);
  double size = std::fabs(a.value);
  double low = i.function(std::max(0.0, size - a.bound)), high = i.function(size + a.bound);
  double spread = a.bound == 0 ? 0 : bounded(std::max(value - low, high - value));
  Scalar &out = m.out(i);
  if (spread == kUndetermined) {
    out.value = i.format->round(value);
    out.bound = kUndetermined;
    return;
  }
  storeFunction(i, out, value, spread, unitsOf(i));
}

void runAbs(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  m.out(i).value = std::fabs(a.value);
  m.out(i).bound = a.bound;
}

void runTan(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  double value = std::tan(a.value);
  double low = std::tan(a.value - a.bound), high = std::tan(a.value + a.bound);
  bool pole = a.bound >= 1 || !(low <= value && value <= high);
  double spread = a.bound == 0 ? 0 : pole ? kUndetermined
                                          : std::max(value - low, high - value);
  if (!(spread < kUndetermined)) {
    out.value = i.format->round(value);
    out.bound = kUndetermined;
    return;
  }
  storeFunction(i, out, value, spread, unitsOf(i));
}

/// Steps: the bound is that of the whole numbers that may come out.
void runStep(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  double value = i.function(a.value);
  double low = i.function(a.value - a.bound), high = i.function(a.value + a.bound);
  out.value = i.format->round(value);
  out.bound = a.bound == 0 ? 0 : bounded(std::max(value - low, high - value));
}

using Function2 = double (*)(double, double);

/// Of two operands: the corners of the rectangle, where the function ascends or
/// descends along both.
void storeCorners(const Instruction &i, Machine &m, Function2 function, bool monotone) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  double value = function(a.value, b.value), spread = 0;
  if (a.bound != 0 || b.bound != 0) {
    spread = monotone ? 0 : kUndetermined;
    if (monotone)
      for (double x : {a.value - a.bound, a.value + a.bound})
        for (double y : {b.value - b.bound, b.value + b.bound}) {
          double apart = std::fabs(function(x, y) - value);
          spread = std::max(spread, std::isnan(apart) ? kUndetermined : apart);
        }
    spread = bounded(spread);
  }
  if (spread == kUndetermined) {
    out.value = i.format->round(value);
    out.bound = kUndetermined;
    return;
  }
  storeFunction(i, out, value, spread, unitsOf(i));
}

void runPow(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  double low = a.value - a.bound;
  bool whole = b.bound == 0 && b.value == std::nearbyint(b.value);
  // Of positive numbers; or a fixed whole power of numbers of one sign. A power that
  // is positive also descends to zero.
  bool monotone = low > 0 || (low >= 0 && b.value - b.bound > 0) ||
                  (whole && a.value + a.bound < 0);
  if (!monotone && whole && b.value > 0 && std::isfinite(a.bound)) {
    // Around zero: at most the power of the largest magnitude.
    Scalar &out = m.out(i);
    double value = std::pow(a.value, b.value);
    double most = std::pow(std::fabs(a.value) + a.bound, b.value);
    if (a.bound != 0) {
      storeFunction(i, out, value, bounded(most + std::fabs(value)), unitsOf(i));
      return;
    }
  }
  storeCorners(i, m, [](double x, double y) { return std::pow(x, y); }, monotone);
}

void runAtan2(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  // Away from the cut along negative x, and from zero.
  bool monotone = b.value - b.bound > 0 || std::fabs(a.value) > a.bound;
  // Between corners it may turn only along an axis.
  storeCorners(i, m, [](double y, double x) { return std::atan2(y, x); }, monotone);
}

void runCopysign(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  out.value = std::copysign(a.value, b.value);
  bool settled = b.bound == 0 || std::fabs(b.value) > b.bound;
  out.bound = settled ? a.bound : bounded(2 * std::fabs(a.value) + a.bound);
}

void runFma(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1), c = m.in(i, 2);
  Scalar &out = m.out(i);
  double value = std::fma(a.value, b.value, c.value);
  bool exact = a.bound == 0 && b.bound == 0 && c.bound == 0;
  double spread = exact ? 0
                        : bounded(std::fabs(a.value) * b.bound + std::fabs(b.value) * a.bound +
                                  a.bound * b.bound + c.bound);
  if (!std::isfinite(value)) {
    out.value = value;
    out.bound = exact ? 0 : kUndetermined;
    return;
  }
  // Rounded to double first; of f64 it may not be known by how much it is off.
  double unit = std::max(i.format->unit, i.format->wideUnit);
  store(out, *i.format, value, i.format->precision == 53 ? unit * std::fabs(value) : 0, spread);
}

/// The exponent is an integer.
void runFPowI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  double n = static_cast<double>(b.integer);
  double value = std::pow(a.value, n), spread = 0;
  if (b.bound != 0 || (a.bound != 0 && n < 0 && std::fabs(a.value) <= a.bound))
    spread = kUndetermined;
  else if (a.bound != 0) {
    double near = std::pow(std::fabs(a.value) - a.bound, n);
    double far = std::pow(std::fabs(a.value) + a.bound, n);
    bool around = std::fabs(a.value) <= a.bound;
    spread = around ? bounded(std::fabs(far) + std::fabs(value))
                    : bounded(std::max(std::fabs(near - std::fabs(value)),
                                       std::fabs(far - std::fabs(value))));
  }
  if (spread == kUndetermined) {
    out.value = i.format->round(value);
    out.bound = kUndetermined;
    return;
  }
  // Made of multiplications, of which each rounds.
  double products = 4 * std::log2(std::max(2.0, std::fabs(n)));
  storeFunction(i, out, value, spread, n == 0 || n == 1 ? 0 : unitsOf(i) + products);
}

template <int kind>
void runIs(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  out.integer = kind == 0   ? std::isnan(a.value)
                : kind == 1 ? std::isinf(a.value)
                : kind == 2 ? std::isfinite(a.value)
                            : std::isnormal(a.value);
  out.bound = a.bound == kUndetermined || (kind == 3 && a.bound != 0) ? 1 : 0;
}

void runClamp(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), low = m.in(i, 1), high = m.in(i, 2);
  Scalar &out = m.out(i);
  double bound = std::max({a.bound, low.bound, high.bound});
  out.value = std::isnan(a.value) ? a.value
                                  : std::min(std::max(a.value, low.value), high.value);
  out.bound = bound;
}

template <void (*run)(const Instruction &, Machine &), double (*function)(double), int64_t units>
bool buildOf(Operation *, Instruction &instruction) {
  instruction.run = run;
  instruction.function = function;
  instruction.immediate = units;
  return true;
}

} // namespace

void commsched::reference::addMathBuilders(ScalarBuilders &builders) {
  constexpr int64_t p = kPolynomial, r = kRoot;
  builders["math.exp"] = buildOf<runMonotone, std::exp, p>;
  builders["math.exp2"] = buildOf<runMonotone, std::exp2, p>;
  builders["math.expm1"] = buildOf<runMonotone, std::expm1, p>;
  builders["math.log"] = buildOf<runMonotone, std::log, p>;
  builders["math.log2"] = buildOf<runMonotone, std::log2, p>;
  builders["math.log10"] = buildOf<runMonotone, std::log10, p>;
  builders["math.log1p"] = buildOf<runMonotone, std::log1p, p>;
  builders["math.tanh"] = buildOf<runMonotone, std::tanh, p>;
  builders["math.sinh"] = buildOf<runMonotone, std::sinh, p>;
  builders["math.asinh"] = buildOf<runMonotone, std::asinh, p>;
  builders["math.acosh"] = buildOf<runMonotone, std::acosh, p>;
  builders["math.atanh"] = buildOf<runMonotone, std::atanh, p>;
  builders["math.asin"] = buildOf<runMonotone, std::asin, p>;
  builders["math.acos"] = buildOf<runMonotone, std::acos, p>;
  builders["math.atan"] = buildOf<runMonotone, std::atan, p>;
  builders["math.erf"] = buildOf<runMonotone, std::erf, p>;
  builders["math.erfc"] = buildOf<runMonotone, std::erfc, p>;
  builders["math.cbrt"] = buildOf<runMonotone, std::cbrt, r>;
  builders["math.rsqrt"] = buildOf<runMonotone, rsqrt, r>;
  builders["math.sqrt"] = buildOf<runMonotone, std::sqrt, 2>;
  builders["math.sin"] = buildOf<runLipschitz, std::sin, p>;
  builders["math.cos"] = buildOf<runLipschitz, std::cos, p>;
  builders["math.tan"] = build<runTan, p>;
  builders["math.cosh"] = buildOf<runEven, std::cosh, p>;
  builders["math.absf"] = build<runAbs>;
  builders["math.floor"] = buildOf<runStep, std::floor, 0>;
  builders["math.ceil"] = buildOf<runStep, std::ceil, 0>;
  builders["math.trunc"] = buildOf<runStep, std::trunc, 0>;
  builders["math.round"] = buildOf<runStep, std::round, 0>;
  builders["math.roundeven"] = buildOf<runStep, std::nearbyint, 0>;
  builders["math.powf"] = build<runPow, p>;
  builders["math.fpowi"] = build<runFPowI, p>;
  builders["math.atan2"] = build<runAtan2, p>;
  builders["math.copysign"] = build<runCopysign>;
  builders["math.fma"] = build<runFma>;
  builders["math.isnan"] = build<runIs<0>>;
  builders["math.isinf"] = build<runIs<1>>;
  builders["math.isfinite"] = build<runIs<2>>;
  builders["math.isnormal"] = build<runIs<3>>;
  builders["math.clampf"] = build<runClamp>;
}
