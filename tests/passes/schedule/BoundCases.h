// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of bounds compare them with.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_BOUNDCASES_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_BOUNDCASES_H

#include <optional>
#include <random>

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Schedule.h"
#include "tests/passes/schedule/Exhaustive.h"

#include "gtest/gtest.h"

namespace commsched::schedule {

inline constexpr double kRounding = 1e-9;

inline double boundOf(const Problem &problem) {
  return boundOfOrder(problem, programOrder(problem)).period;
}

/// A problem, and one that may become of it in a run: of this one schedules are searched.
struct ProblemAndRun {
  Problem problem, run;
  ProblemAndRun(Problem own) : problem(own), run(std::move(own)) {}
  ProblemAndRun(Problem problem, Problem run) : problem(std::move(problem)), run(std::move(run)) {}
};

/// judge(problem, best, random) for problems drawn by draw(seed, random), until the search has found the best schedule of
/// `count` of them, or one is not as it must be.
template <typename Draw, typename Judge>
void compareWithSearch(unsigned count, Draw draw, Judge judge, bool anyOrder = false) {
  unsigned compared = 0;
  for (uint32_t seed = 0; compared < count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const ProblemAndRun drawn = draw(seed, random);
    ASSERT_EQ(check(drawn.problem), std::nullopt);
    const ExhaustiveResult best = shortSearch(drawn.run, anyOrder);
    if (!best.finished)
      continue;
    ++compared;
    judge(drawn.problem, best, random);
  }
}

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_BOUNDCASES_H
