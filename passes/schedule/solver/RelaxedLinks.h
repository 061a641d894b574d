// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links as the ops of one stream see them in the relaxation.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_RELAXEDLINKS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_RELAXEDLINKS_H

#include "passes/schedule/solver/Problem.h"

namespace commsched::schedule {

/// The part of a communication on one link, seen by one stream: work that queues
/// for the link and that an op of the stream, `distance` steps later, waits for.
struct Item {
  unsigned communication = 0;
  unsigned queue = 0;
  Time head = 0; ///< before its first byte can be there
  Time work = 0;
  unsigned op = 0;
  unsigned distance = 0;
};

/// A link as one stream sees it.
struct QueueCosts {
  unsigned stream = 0;
  Time tail = 0; ///< from the end of the last work until it has arrived
};

/// Adds what the stream waits for: one queue for each link and class of costs, with all
/// communication that costs at least as much. Times are in parts of a nanosecond,
/// `unit` of them, and the time to send is rounded down.
void addItems(const Problem &problem, const std::vector<std::vector<unsigned>> &order,
              unsigned stream, Time unit, std::vector<Item> &items,
              std::vector<QueueCosts> &costs);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_RELAXEDLINKS_H
