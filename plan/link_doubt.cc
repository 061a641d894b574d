// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/link_doubt.h"

#include <charconv>

namespace commsched::plan {
namespace {

std::string Text(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), number,
                                 number >= 1e-6 && number < 1e15 ? std::chars_format::fixed : std::chars_format::general);
  return {text, end.ptr};
}

}  // namespace

std::string DoubtRate(std::string_view field, double number, std::string_view unit, double bits_per_s) {
  const double rate = number * bits_per_s;
  if (rate >= kLeastLinkRate && rate <= kMostLinkRate) return "";
  return std::string(field) + " is in " + std::string(unit) + ", of which links have " + Text(kLeastLinkRate / bits_per_s) +
         " to " + Text(kMostLinkRate / bits_per_s) + ", got: " + Text(number);
}

std::string DoubtTime(std::string_view field, int64_t ns) {
  if (ns <= kMostLinkNs) return "";
  return std::string(field) + " is in ns, of which links have at most " + std::to_string(kMostLinkNs) +
         ", got: " + std::to_string(ns);
}

}  // namespace commsched::plan
