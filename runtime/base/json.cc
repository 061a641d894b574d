// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/json.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace commsched::runtime {

std::string JsonQuote(absl::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (c < 0x20)
      absl::StrAppendFormat(&out, "\\u%04x", int(c));
    else
      out.push_back(char(c));
  }
  out.push_back('"');
  return out;
}

std::string JsonNumber(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.17g", value) : "null";
}

}  // namespace commsched::runtime
