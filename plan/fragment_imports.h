// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled fragments may import: the compiler makes nothing else, and the
// runtime loads nothing else.
#ifndef COMMSCHED_PLAN_FRAGMENT_IMPORTS_H
#define COMMSCHED_PLAN_FRAGMENT_IMPORTS_H

#include <algorithm>
#include <iterator>
#include <string_view>

namespace commsched::plan {

// Three functions of the C library, and those of libm in f64 and f32.
inline bool FragmentMayImport(std::string_view name) {
  static constexpr std::string_view kMemory[] = {"memcpy", "memmove", "memset"};
  static constexpr std::string_view kLibm[] = {
      "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow",
      "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
      "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "cbrt",
      "fmod", "ceil", "floor", "round", "roundeven", "rint", "nearbyint",
      "trunc", "fma", "sqrt", "sincos", "ldexp", "frexp", "copysign", "fabs",
      "fmax", "fmin", "fdim", "hypot", "tgamma", "lgamma"};
  auto is_of = [](std::string_view text, const auto &names) {
    return std::find(std::begin(names), std::end(names), text) != std::end(names);
  };
  if (is_of(name, kMemory) || is_of(name, kLibm)) return true;
  return name.size() > 1 && name.back() == 'f' &&
         is_of(name.substr(0, name.size() - 1), kLibm);
}

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_FRAGMENT_IMPORTS_H
