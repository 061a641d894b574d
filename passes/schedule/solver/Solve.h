// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The solver: messages, priorities, credit and the order of ops together.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_SOLVE_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_SOLVE_H

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Schedule.h"

#include <utility>

namespace commsched::schedule {

/// Bytes at which buckets are closed, and the first of them.
struct BucketLimits {
  int64_t bytes = int64_t{25} << 20;
  int64_t first = int64_t{1} << 20;
  bool operator==(const BucketLimits &) const = default;
};

struct SolverOptions {
  /// How much is searched: about the number of messages that are simulated, in
  /// thousands; 0: as much as fits the size of the problem.
  int64_t effort = 0;
  /// Whether ops may run in another order than the program's.
  bool reorder = true;
  /// Of the policy fixed-buckets; where it is only compared with, it has its own.
  BucketLimits buckets = {};
  /// Schedules are judged as they are when applied, and the solution is such a one.
  /// Those of baselines() in the list of periods are as published.
  Applied applied = {};
};

struct Solution {
  Schedule schedule; ///< its name is "solver", or that of the baseline it is
  Evaluation evaluation;
  Bound bound; ///< for the order of ops of the schedule
  Bound anyOrderBound;
  /// What it was compared with: name and period, in the order of baselines(). P3
  /// is left out of more than 400 GB, and so is what never ends.
  std::vector<std::pair<std::string, double>> baselines;
  double bestBaseline = kNever; ///< period of the best of them, as it is or as applied
  /// Those of them, as applied, that came near.
  std::vector<Schedule> rivals;
  /// Others that are nearly as short, with the same order of ops and fewer messages; the fewest first.
  std::vector<Schedule> fewer;
  unsigned evaluations = 0; ///< schedules that were simulated
};

/// The best schedule found. Requires that check() finds nothing. It is never behind
/// a baseline that can be applied as it is; the same problem and options give the same
/// solution on every machine.
Solution solve(const Problem &problem, const SolverOptions &options = {});

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_SOLVE_H
