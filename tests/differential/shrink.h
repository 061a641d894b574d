// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a program smaller that shows something.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_SHRINK_H
#define COMMSCHED_TESTS_DIFFERENTIAL_SHRINK_H

#include <functional>
#include <string>

namespace commsched::differential {

// Drops results, ops and arguments of the step as long as `shows` is true of what is
// left, for `seconds` at most. Returns the smallest text; `text` if it does not parse.
std::string shrink(const std::string &text, double seconds,
                   const std::function<bool(const std::string &)> &shows);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_SHRINK_H
