// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random scheduling problems in slots of one nanosecond, and schedules for them.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_RANDOMPROBLEM_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_RANDOMPROBLEM_H

#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

struct RandomOptions {
  unsigned streams = 1;
  unsigned links = 1; ///< with more than one, communications have up to two stages
  Time maxLatency = 0;
  Time maxOverhead = 0;
  Time maxUpdate = 0; ///< of each stage, also of communications of one kind
  int64_t maxBytes = 3;
  unsigned maxCommunications = 4;
  unsigned maxOps = 6;
  bool tails = false;       ///< of kind 0 always, of kind 1 by the seed
  bool connections = false; ///< each kind has one, mostly another one than the other kind, or none
};

/// The same for the same seed, everywhere, but for tails and connections. All stages have the tensor's bytes.
Problem randomProblem(uint64_t seed, const RandomOptions &options);

/// The program order; pieces of at most `slice` bytes, some of them of several
/// tensors, with any priorities and credit.
Schedule randomSchedule(const Problem &problem, uint64_t seed, int64_t slice);

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_RANDOMPROBLEM_H
