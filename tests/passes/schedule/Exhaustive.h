// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exhaustive search over all preemptive schedules of tiny problems, slot by slot.
// It shares nothing with the bound or the evaluator.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_EXHAUSTIVE_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_EXHAUSTIVE_H

#include "passes/schedule/solver/Problem.h"

namespace commsched::schedule {

struct ExhaustiveResult {
  /// By step: the earliest slot in which an op of it can start.
  std::vector<Time> starts;
  bool finished = true; ///< false: there were too many states
};

/// Links send one byte per slot and durations and latencies are slots. In every
/// slot a link sends one byte of any tensor that is there, or none, and a stream
/// may start any op that can start, or none. All stages have the tensor's bytes,
/// and no overhead; ops take a slot at least; there are 15 ops at most. With
/// `anyOrder`, ops of a stream run in any order within a step; else deferred ones do. A step has
/// started when one that is not deferred has; there is one.
ExhaustiveResult exhaustive(const Problem &problem, unsigned steps, bool anyOrder,
                            size_t maxStates = 20000);

/// Of so many steps that what is drawn repeats itself, with so few states that many problems can be searched.
inline ExhaustiveResult shortSearch(const Problem &problem, bool anyOrder = false) {
  return exhaustive(problem, 13, anyOrder, 150);
}
/// By the later steps of a short search: transients are short.
inline double periodOf(const ExhaustiveResult &best) {
  return static_cast<double>(best.starts[12] - best.starts[6]) / 6;
}

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_EXHAUSTIVE_H
