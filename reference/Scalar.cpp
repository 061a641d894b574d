// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Scalar.h"

#include <cfenv>

using namespace mlir;
using namespace commsched::reference;

static FloatFormat makeFormat(int precision, int minExponent, int maxExponent,
                              double wideUnit) {
  FloatFormat format;
  format.precision = precision;
  format.minExponent = minExponent;
  format.unit = std::ldexp(1.0, -precision);
  format.smallest = std::ldexp(1.0, minExponent - precision + 1);
  format.largest = std::ldexp(2.0 - std::ldexp(1.0, 1 - precision), maxExponent);
  format.wideUnit = wideUnit;
  return format;
}

const FloatFormat *commsched::reference::formatOf(Type type) {
  static const double f32Unit = std::ldexp(1.0, -24);
  static const FloatFormat f64 = makeFormat(53, -1022, 1023, 0);
  static const FloatFormat f32 = makeFormat(24, -126, 127, 0);
  static const FloatFormat f16 = makeFormat(11, -14, 15, f32Unit);
  static const FloatFormat bf16 = makeFormat(8, -126, 127, f32Unit);
  return type.isF64()    ? &f64
         : type.isF32()  ? &f32
         : type.isF16()  ? &f16
         : type.isBF16() ? &bf16
                         : nullptr;
}

double FloatFormat::round(double value) const {
  if (precision == 53 || !std::isfinite(value) || value == 0)
    return value;
  if (precision == 24)
    return static_cast<float>(value);
  int exponent;
  std::frexp(value, &exponent); // of |value| in [0.5, 1)
  double quantum = std::ldexp(1.0, std::max(exponent - 1, minExponent) - precision + 1);
  double rounded = std::nearbyint(value / quantum) * quantum;
  if (std::fabs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

unsigned commsched::reference::widthOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth();
  return isa<IndexType>(type) ? 64 : 0;
}

int64_t commsched::reference::wrap(int64_t value, unsigned width) {
  if (width >= 64)
    return value;
  if (width == 1)
    return value & 1;
  uint64_t shifted = static_cast<uint64_t>(value) << (64 - width);
  return static_cast<int64_t>(shifted) >> (64 - width);
}

void commsched::reference::store(Scalar &out, const FloatFormat &format, double value,
                                 double off, double spread, bool sure) {
  double rounded = format.round(value);
  out.value = rounded;
  if (!std::isfinite(rounded)) {
    // A wider format has not overflown yet.
    bool wider = std::isfinite(value) && format.wideUnit != 0;
    out.bound = spread == 0 && !wider ? 0 : kUndetermined;
    return;
  }
  double residue = std::fabs(value - rounded) + off;
  if (spread == 0 && (residue == 0 || (sure && format.wideUnit == 0))) {
    out.bound = 0;
    return;
  }
  // With exact operands it is rounded like here, in a wider format, or (in a
  // contraction) not at all. With others, it is another number that is rounded.
  double bound = residue + spread;
  double size = std::fabs(rounded) + spread;
  bound += (spread == 0 ? format.wideUnit : format.unit) * size;
  if (size * format.unit < format.smallest)
    bound += format.smallest;
  // The bound itself is computed in double.
  bound *= 1 + 0x1p-40;
  out.bound = size + bound > format.largest ? kUndetermined : bounded(bound);
}

void commsched::reference::storeInt(Scalar &out, unsigned width, __int128 value,
                                    double bound) {
  int64_t wrapped = wrap(static_cast<int64_t>(value), width);
  out.integer = wrapped;
  if (bound == 0) {
    out.bound = 0;
    return;
  }
  if (width == 1) {
    out.bound = 1;
    return;
  }
  // Where anything within the bound may wrap, nothing is known.
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  double size = std::fabs(static_cast<double>(value)) + bound;
  out.bound = wrapped == value && size < limit ? bounded(bound) : kUndetermined;
}

Scalar commsched::reference::hull(const Scalar &chosen, const Scalar &other, bool isFloat) {
  Scalar result = chosen;
  double apart;
  if (!isFloat)
    apart = std::fabs(static_cast<double>(chosen.integer) - static_cast<double>(other.integer));
  else if (chosen.value == other.value ||
           (std::isnan(chosen.value) && std::isnan(other.value)))
    apart = 0;
  else
    apart = std::fabs(chosen.value - other.value);
  // A NaN on one side is never below anything.
  double reach = apart + other.bound;
  result.bound = reach > chosen.bound || std::isnan(reach) ? bounded(reach) : chosen.bound;
  return result;
}

//===----------------------------------------------------------------------===//
// Sums of reductions
//===----------------------------------------------------------------------===//

/// What is no integer, or not exact, makes a sum that depends on its order.
static int64_t flagsOf(const Scalar &term) {
  if (!std::isfinite(term.value))
    return kInexactTerm | kInfiniteTerm;
  bool exact = term.bound == 0 && term.value == std::nearbyint(term.value);
  return exact ? int64_t(0) : int64_t(kInexactTerm);
}

void commsched::reference::beginSum(Scalar &sum) {
  sum.integer = flagsOf(sum);
  sum.magnitude = std::fabs(sum.value) + sum.bound;
  if (sum.magnitude == 0)
    sum.integer |= kNoFirstTerm;
}

void commsched::reference::runAccumulate(const Instruction &i, Machine &m) {
  const Scalar &sum = m.in(i, 0), &term = m.in(i, 1);
  Scalar &out = m.out(i);
  int64_t flags = sum.integer | flagsOf(term);
  double bound = sum.bound + term.bound;
  double magnitude = sum.magnitude + std::fabs(term.value) + term.bound;
  out.value = i.immediate ? sum.value - term.value : sum.value + term.value;
  out.integer = flags;
  out.bound = bound;
  out.magnitude = magnitude;
}

void commsched::reference::runCopy(const Instruction &i, Machine &m) {
  m.out(i) = m.in(i, 0);
}

void commsched::reference::endSum(Scalar &sum, const FloatFormat &format, double terms) {
  int64_t flags = sum.integer;
  double magnitude = sum.magnitude, bound = sum.bound, value = sum.value;
  sum.integer = 0;
  sum.magnitude = 0;
  sum.value = format.round(value);
  // n terms are n - 1 additions, and one to the initial value if it is not zero.
  double additions = terms - (flags & kNoFirstTerm ? 1 : 0);
  if (!std::isfinite(sum.value)) {
    sum.bound = flags & kInfiniteTerm && bound == 0 ? 0 : kUndetermined;
    return;
  }
  // Integers below 2^precision are added exactly, in any order.
  if (!(flags & kInexactTerm) && magnitude <= std::ldexp(1.0, format.precision)) {
    sum.bound = 0;
    return;
  }
  if (additions > 0) {
    if (format.wideUnit != 0)
      additions += 1; // rounded at last
    // Each term takes part in at most as many additions (Higham, section 4.2). The
    // sum here was made in double.
    bound += std::expm1(additions * std::log1p(format.unit)) * magnitude;
    bound += std::expm1(additions * std::log1p(0x1p-53)) * magnitude;
  }
  bound += std::fabs(value - sum.value);
  bound *= 1 + 0x1p-40;
  sum.bound = magnitude + bound > format.largest ? kUndetermined : bounded(bound);
}

ScalarBuilder commsched::reference::scalarBuilder(StringRef opName) {
  static const ScalarBuilders builders = [] {
    ScalarBuilders all;
    addFloatBuilders(all);
    addIntegerBuilders(all);
    addMathBuilders(all);
    return all;
  }();
  return builders.lookup(opName);
}
