// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TESTS_CHAOS_CHAOS_H
#define COMMSCHED_TESTS_CHAOS_CHAOS_H

#include <cstdint>
#include <string>
#include <vector>

namespace commsched::runtime::core {

// What came of one run: a random job under random faults, both of its seed. Of every
// two seeds, one is a job with parameter servers and one of ranks.
struct ChaosRun {
  std::string wrong;               // empty: the job ended as it must
  bool failed = false;             // with an error, which the faults explain
  std::vector<std::string> trace;  // what happened, in order
  size_t plan_changes = 0;
  size_t early_parts = 0;  // parts of messages that were used before the rest was there
};
ChaosRun RunChaos(uint64_t seed);

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_TESTS_CHAOS_CHAOS_H
