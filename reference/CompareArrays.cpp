// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Array.h"

using namespace commsched::reference;

/// Whether two numbers that are not both finite are of one class.
static bool sameClass(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b;
}

Difference commsched::reference::compare(const Array &found, const Array &wanted) {
  Difference result;
  result.total = wanted.size();
  // The largest magnitude that is known; a bound as large as that says nothing.
  double size = 0;
  for (int64_t i = 0; i < result.total; ++i)
    if (std::isfinite(wanted.at(i)))
      size = std::max(size, std::fabs(wanted.at(i)));
  double worst = -1;
  for (int64_t i = 0; i < result.total; ++i) {
    double bound = wanted.bounds[i], value = wanted.at(i), other = found.at(i);
    if (!(bound < kUndetermined)) {
      ++result.undetermined;
      continue;
    }
    double apart;
    bool outside;
    if (std::isfinite(value) && std::isfinite(other)) {
      // Integers of 64 bits are not doubles.
      apart = wanted.isFloat() ? std::fabs(value - other)
                               : static_cast<double>(std::abs(
                                     static_cast<long double>(wanted.ints[i]) -
                                     static_cast<long double>(found.ints[i])));
      outside = apart > bound;
    } else {
      outside = !sameClass(value, other);
      apart = outside ? kUndetermined : 0;
    }
    if (!outside && bound >= size && bound > 0) {
      ++result.undetermined;
      continue;
    }
    result.outside += outside;
    result.largest = std::max(result.largest, apart);
    result.largestBound = std::max(result.largestBound, bound);
    // The worst is what is farthest outside, relative to its bound.
    double ratio = apart == 0 ? 0 : bound == 0 ? kUndetermined
                                               : apart / bound;
    if (ratio > worst) {
      worst = ratio;
      result.element = i;
      result.found = other;
      result.wanted = value;
      result.bound = bound;
    }
  }
  return result;
}
