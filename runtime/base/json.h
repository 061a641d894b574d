// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_BASE_JSON_H
#define COMMSCHED_RUNTIME_BASE_JSON_H

#include <string>

#include "absl/strings/string_view.h"

namespace commsched::runtime {

// `text` as a JSON string, with its quotes. Bytes above 127 pass unchanged.
std::string JsonQuote(absl::string_view text);
// `value` as a JSON number that reads back as the same double; "null" for what
// JSON lacks.
std::string JsonNumber(double value);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_JSON_H
