// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random training steps of level 0.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_GENERATE_H
#define COMMSCHED_TESTS_DIFFERENTIAL_GENERATE_H

#include <cstdint>
#include <string>

namespace commsched::differential {

// The text of one function with cs.step, which verifies; the same for the same seed.
// With `servers`, it leaves out most of what parameter servers refuse.
std::string generate(uint64_t seed, bool servers);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_GENERATE_H
