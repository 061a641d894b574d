// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines as somebody writes them who runs passes one by one: some twice, in another
// order, with passes of MLIR between them, and modules that are written and read again.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_BY_HAND_H
#define COMMSCHED_TESTS_DIFFERENTIAL_BY_HAND_H

#include <cstdint>
#include <string>

namespace commsched::differential {

// The pass "round-trip{as=text|generic|bytecode}": the module is written, and read again.
void registerRoundTrip();

// The passes of `pipeline`, which are registered, in a way that `seed` draws. What comes out
// means the same, or is refused.
std::string byHand(const std::string &pipeline, uint64_t seed);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_BY_HAND_H
