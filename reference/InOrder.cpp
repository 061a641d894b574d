// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/InOrder.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

InOrder::InOrder(Type elementType, cs::Combine how, std::optional<double> scale)
    : how(how), scale(scale), format(formatOf(elementType)), width(widthOf(elementType)),
      inDouble(elementType.isF64()) {}

double InOrder::compute(double value) const {
  return inDouble ? value : static_cast<double>(static_cast<float>(value));
}

void InOrder::apply(Array &own, int64_t i, const Array &received, int64_t j,
                    bool scaled) const {
  scaled &= scale.has_value();
  if (how == cs::Combine::replace && !scaled)
    own.setFrom(i, received, j);
  else if (format)
    applyFloat(own, i, received, j, scaled);
  else
    applyInt(own, i, received, j);
}

void InOrder::applyFloat(Array &own, int64_t i, const Array &received, int64_t j,
                         bool scaled) const {
  double a = own.values[i], b = received.values[j];
  double result = b, spread = received.bounds[j];
  if (how == cs::Combine::sum) {
    result = compute(a + b);
    spread += own.bounds[i];
  } else if (how != cs::Combine::replace) {
    if (std::isnan(a) || std::isnan(b))
      result = std::numeric_limits<double>::quiet_NaN();
    else
      result = how == cs::Combine::max ? std::max(a, b) : std::min(a, b);
    spread = std::max(spread, own.bounds[i]);
  }
  // A known number is what it is to the bit; another one is rounded elsewhere.
  auto roundings = [&] {
    return 2 * format->unit * (std::abs(result) + spread) + format->smallest;
  };
  if (spread > 0 && how == cs::Combine::sum)
    spread += roundings();
  if (scaled) {
    double factor = compute(*scale);
    result = compute(result * factor);
    spread *= std::abs(factor);
    // A sum of 16-bit elements may be rounded before it is scaled.
    if (spread > 0 || format->wideUnit > 0)
      spread += 2 * roundings();
  }
  result = format->round(result);
  // Which infinity it is, or whether it is one, is known of known numbers only.
  if (!std::isfinite(result) && spread > 0)
    spread = kUndetermined;
  own.values[i] = result;
  own.bounds[i] = bounded(spread);
}

void InOrder::applyInt(Array &own, int64_t i, const Array &received, int64_t j) const {
  int64_t a = own.ints[i], b = received.ints[j];
  double bound = std::max(own.bounds[i], received.bounds[j]);
  if (how == cs::Combine::max)
    a = std::max(a, b);
  else if (how == cs::Combine::min)
    a = std::min(a, b);
  else {
    a = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    bound = own.bounds[i] + received.bounds[j];
  }
  int64_t wrapped = wrap(a, width);
  own.ints[i] = wrapped;
  // What is not certain may wrap around, or not.
  own.bounds[i] = bound > 0 && wrapped != a ? kUndetermined : bounded(bound);
}
