// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// arith and math on integers and index, and what is of any type.

#include "reference/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <bit>

using namespace mlir;
using namespace commsched::reference;

namespace {

/// As a signed and an unsigned number of the width.
int64_t signedOf(int64_t value, unsigned width) { return width == 1 ? -value : value; }
uint64_t unsignedOf(int64_t value, unsigned width) {
  uint64_t bits = static_cast<uint64_t>(value);
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

/// The bound of a result that may be anything of its width.
double anything(unsigned width) { return width == 1 ? 1 : kUndetermined; }

void runAddI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  storeInt(m.out(i), i.width, static_cast<__int128>(a.integer) + b.integer, a.bound + b.bound);
}

void runSubI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  storeInt(m.out(i), i.width, static_cast<__int128>(a.integer) - b.integer, a.bound + b.bound);
}

void runMulI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  double bound = a.bound == 0 && b.bound == 0
                     ? 0
                     : bounded(std::fabs(static_cast<double>(a.integer)) * b.bound +
                               std::fabs(static_cast<double>(b.integer)) * a.bound +
                               a.bound * b.bound);
  // Exactly zero times anything is zero.
  if ((a.integer == 0 && a.bound == 0) || (b.integer == 0 && b.bound == 0))
    bound = 0;
  storeInt(m.out(i), i.width, static_cast<__int128>(a.integer) * b.integer, bound);
}

enum class Division {
  signedQuotient,
  unsignedQuotient,
  signedRest,
  unsignedRest,
  up,
  upUnsigned,
  down
};

template <Division kind>
void runDivI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  if (b.integer == 0) {
    // A divisor that nobody knows: neither is what happens.
    if (b.bound == 0)
      m.fail(i.op, "divides by zero");
    out.integer = 0;
    out.bound = anything(i.width);
    return;
  }
  __int128 result;
  if constexpr (kind == Division::unsignedQuotient || kind == Division::unsignedRest ||
                kind == Division::upUnsigned) {
    uint64_t x = unsignedOf(a.integer, i.width), y = unsignedOf(b.integer, i.width);
    result = kind == Division::unsignedQuotient ? x / y
             : kind == Division::unsignedRest   ? x % y
                                                : x / y + (x % y != 0);
  } else {
    __int128 x = signedOf(a.integer, i.width), y = signedOf(b.integer, i.width);
    __int128 quotient = x / y, rest = x % y;
    result = quotient;
    if (kind == Division::signedRest)
      result = rest;
    if (kind == Division::up && rest != 0 && (rest < 0) == (y < 0))
      ++result;
    if (kind == Division::down && rest != 0 && (rest < 0) != (y < 0))
      --result;
  }
  storeInt(out, i.width, result, 0);
  if (a.bound != 0 || b.bound != 0)
    out.bound = anything(i.width);
}

enum class Bits {
  both,
  either,
  one,
  left,
  right,
  rightUnsigned
};

template <Bits kind>
void runBits(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  Scalar &out = m.out(i);
  bool exact = a.bound == 0 && b.bound == 0;
  double bound = exact ? 0 : anything(i.width);
  auto absorbs = [&](int64_t value) {
    return (a.bound == 0 && a.integer == value) || (b.bound == 0 && b.integer == value);
  };
  int64_t result = 0;
  if constexpr (kind == Bits::both) {
    result = a.integer & b.integer;
    if (absorbs(0))
      bound = 0;
  } else if constexpr (kind == Bits::either) {
    result = a.integer | b.integer;
    if (absorbs(i.width == 1 ? 1 : -1))
      bound = 0;
  } else if constexpr (kind == Bits::one) {
    result = a.integer ^ b.integer;
  } else {
    uint64_t by = unsignedOf(b.integer, i.width);
    if (by >= i.width) // not defined
      bound = anything(i.width);
    else if (kind == Bits::left)
      result = static_cast<int64_t>(static_cast<uint64_t>(a.integer) << by);
    else if (kind == Bits::right)
      result = signedOf(a.integer, i.width) >> by;
    else
      result = static_cast<int64_t>(unsignedOf(a.integer, i.width) >> by);
  }
  out.integer = wrap(result, i.width);
  out.bound = bound;
}

template <int sign, bool isSigned>
void runMostI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  bool less = isSigned ? signedOf(a.integer, i.width) < signedOf(b.integer, i.width)
                       : unsignedOf(a.integer, i.width) < unsignedOf(b.integer, i.width);
  Scalar &out = m.out(i);
  out.integer = less == (sign > 0) ? b.integer : a.integer;
  double bound = std::max(a.bound, b.bound);
  // Around zero, an unsigned number may be far from its neighbour.
  out.bound = bound != 0 && !isSigned ? anything(i.width) : bound;
}

void runCmpI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  using P = arith::CmpIPredicate;
  int64_t x = signedOf(a.integer, i.fromWidth), y = signedOf(b.integer, i.fromWidth);
  uint64_t ux = unsignedOf(a.integer, i.fromWidth), uy = unsignedOf(b.integer, i.fromWidth);
  bool result = false, isUnsigned = false;
  switch (static_cast<P>(i.immediate)) {
  case P::eq:
    result = x == y;
    break;
  case P::ne:
    result = x != y;
    break;
  case P::slt:
    result = x < y;
    break;
  case P::sle:
    result = x <= y;
    break;
  case P::sgt:
    result = x > y;
    break;
  case P::sge:
    result = x >= y;
    break;
  case P::ult:
    result = ux < uy;
    isUnsigned = true;
    break;
  case P::ule:
    result = ux <= uy;
    isUnsigned = true;
    break;
  case P::ugt:
    result = ux > uy;
    isUnsigned = true;
    break;
  case P::uge:
    result = ux >= uy;
    isUnsigned = true;
    break;
  }
  double sum = a.bound + b.bound;
  double apart = std::fabs(static_cast<double>(x) - static_cast<double>(y));
  Scalar &out = m.out(i);
  out.integer = result;
  out.bound = sum == 0 || (!isUnsigned && apart > sum) ? 0 : 1;
}

/// immediate: 1 if the operand counts as unsigned.
void runConvertI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  Scalar &out = m.out(i);
  if (i.width <= i.fromWidth) {
    int64_t wrapped = wrap(a.integer, i.width);
    bool same = wrapped == a.integer;
    double limit = std::ldexp(1.0, static_cast<int>(i.width) - 1);
    bool stays = same && std::fabs(static_cast<double>(wrapped)) + a.bound < limit;
    out.integer = wrapped;
    out.bound = a.bound == 0 ? 0 : stays ? a.bound
                                         : anything(i.width);
    return;
  }
  out.integer = i.immediate ? static_cast<int64_t>(unsignedOf(a.integer, i.fromWidth))
                            : signedOf(a.integer, i.fromWidth);
  // A negative number that is not known becomes a large one.
  bool moves = i.immediate && i.fromWidth > 1 && a.bound != 0 &&
               static_cast<double>(a.integer) - a.bound < 0;
  out.bound = moves ? kUndetermined : a.bound;
}

void runSelect(const Instruction &i, Machine &m) {
  const Scalar which = m.in(i, 0), a = m.in(i, 1), b = m.in(i, 2);
  Scalar &out = m.out(i);
  const Scalar &chosen = which.integer ? a : b;
  if (which.bound == 0)
    out = chosen;
  else
    out = hull(chosen, which.integer ? b : a, i.format != nullptr);
  if (!i.format && i.width == 1 && out.bound != 0)
    out.bound = 1;
}

/// Low and high half of a product, or the sum and its carry.
template <bool isSigned>
void runMulExtended(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  __int128 product = isSigned ? static_cast<__int128>(signedOf(a.integer, i.width)) *
                                    signedOf(b.integer, i.width)
                              : static_cast<__int128>(
                                    static_cast<unsigned __int128>(unsignedOf(a.integer, i.width)) *
                                    unsignedOf(b.integer, i.width));
  double bound = a.bound == 0 && b.bound == 0 ? 0 : anything(i.width);
  for (unsigned r = 0; r < 2; ++r) {
    m.out(i, r).integer = wrap(static_cast<int64_t>(product >> (r * i.width)), i.width);
    m.out(i, r).bound = bound;
  }
}

void runAddExtended(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  unsigned __int128 sum = static_cast<unsigned __int128>(unsignedOf(a.integer, i.width)) +
                          unsignedOf(b.integer, i.width);
  bool exact = a.bound == 0 && b.bound == 0;
  m.out(i, 0).integer = wrap(static_cast<int64_t>(sum), i.width);
  m.out(i, 0).bound = exact ? 0 : anything(i.width);
  m.out(i, 1).integer = static_cast<int64_t>(sum >> i.width) & 1;
  m.out(i, 1).bound = exact ? 0 : 1;
}

enum class Count {
  ones,
  leading,
  trailing
};

template <Count kind>
void runCount(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  uint64_t bits = unsignedOf(a.integer, i.width);
  int64_t result;
  if (kind == Count::ones)
    result = std::popcount(bits);
  else if (bits == 0)
    result = i.width;
  else if (kind == Count::leading)
    result = std::countl_zero(bits) - (64 - static_cast<int>(i.width));
  else
    result = std::countr_zero(bits);
  m.out(i).integer = wrap(result, i.width);
  m.out(i).bound = a.bound == 0 ? 0 : anything(i.width);
}

void runAbsI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0);
  __int128 value = signedOf(a.integer, i.width);
  storeInt(m.out(i), i.width, value < 0 ? -value : value, a.bound);
}

void runPowI(const Instruction &i, Machine &m) {
  const Scalar a = m.in(i, 0), b = m.in(i, 1);
  int64_t base = signedOf(a.integer, i.width), exponent = signedOf(b.integer, i.width);
  uint64_t result = 1;
  if (exponent < 0) {
    if (base == 0 && a.bound == 0 && b.bound == 0)
      m.fail(i.op, "divides by zero");
    result = base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1)
                                        : 0;
  } else {
    uint64_t power = static_cast<uint64_t>(base);
    for (int64_t n = exponent; n > 0; n >>= 1, power *= power)
      if (n & 1)
        result *= power;
  }
  m.out(i).integer = wrap(static_cast<int64_t>(result), i.width);
  m.out(i).bound = a.bound == 0 && b.bound == 0 ? 0 : anything(i.width);
}

bool buildCmpI(Operation *op, Instruction &instruction) {
  instruction.run = runCmpI;
  instruction.immediate = static_cast<int64_t>(cast<arith::CmpIOp>(op).getPredicate());
  return true;
}

} // namespace

void commsched::reference::addIntegerBuilders(ScalarBuilders &builders) {
  builders["arith.addi"] = build<runAddI>;
  builders["arith.subi"] = build<runSubI>;
  builders["arith.muli"] = build<runMulI>;
  builders["arith.divsi"] = build<runDivI<Division::signedQuotient>>;
  builders["arith.divui"] = build<runDivI<Division::unsignedQuotient>>;
  builders["arith.remsi"] = build<runDivI<Division::signedRest>>;
  builders["arith.remui"] = build<runDivI<Division::unsignedRest>>;
  builders["arith.ceildivsi"] = build<runDivI<Division::up>>;
  builders["arith.ceildivui"] = build<runDivI<Division::upUnsigned>>;
  builders["arith.floordivsi"] = build<runDivI<Division::down>>;
  builders["arith.andi"] = build<runBits<Bits::both>>;
  builders["arith.ori"] = build<runBits<Bits::either>>;
  builders["arith.xori"] = build<runBits<Bits::one>>;
  builders["arith.shli"] = build<runBits<Bits::left>>;
  builders["arith.shrsi"] = build<runBits<Bits::right>>;
  builders["arith.shrui"] = build<runBits<Bits::rightUnsigned>>;
  builders["arith.maxsi"] = build<runMostI<1, true>>;
  builders["arith.minsi"] = build<runMostI<-1, true>>;
  builders["arith.maxui"] = build<runMostI<1, false>>;
  builders["arith.minui"] = build<runMostI<-1, false>>;
  builders["arith.cmpi"] = buildCmpI;
  builders["arith.extsi"] = build<runConvertI, 0>;
  builders["arith.extui"] = build<runConvertI, 1>;
  builders["arith.trunci"] = build<runConvertI, 0>;
  builders["arith.index_cast"] = build<runConvertI, 0>;
  builders["arith.index_castui"] = build<runConvertI, 1>;
  builders["arith.select"] = build<runSelect>;
  builders["arith.mulsi_extended"] = build<runMulExtended<true>>;
  builders["arith.mului_extended"] = build<runMulExtended<false>>;
  builders["arith.addui_extended"] = build<runAddExtended>;
  builders["math.ctpop"] = build<runCount<Count::ones>>;
  builders["math.ctlz"] = build<runCount<Count::leading>>;
  builders["math.cttz"] = build<runCount<Count::trailing>>;
  builders["math.absi"] = build<runAbsI>;
  builders["math.ipowi"] = build<runPowI>;
}
