// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Policy.h"

#include "passes/schedule/baselines/Baselines.h"

#include <algorithm>

namespace commsched::schedule {

static constexpr std::string_view kSolver = "solver";

static const Baseline *findBaseline(std::string_view name) {
  for (const Baseline &baseline : baselines())
    if (name == baseline.name)
      return &baseline;
  return nullptr;
}

std::string listPolicies() {
  std::string names(kSolver);
  for (const Baseline &baseline : baselines())
    names += std::string(", ") + baseline.name;
  return names;
}

bool isPolicy(std::string_view name) {
  return name == kSolver || findBaseline(name);
}

Solution runPolicy(const Problem &problem, std::string_view name,
                   SolverOptions options) {
  if (name == kSolver) {
    auto size = static_cast<int64_t>(problem.communications.size() +
                                     problem.ops.size());
    if (options.effort == 0)
      options.effort = std::max(std::clamp<int64_t>(10 * size, 100, 3000), size / 10);
    return solve(problem, options);
  }
  const Baseline *baseline = findBaseline(name);
  View view(problem, programOrder(problem));
  Solution solution;
  solution.schedule = baseline->make(view);
  solution.evaluation = evaluate(problem, solution.schedule);
  solution.bound = boundOfOrder(problem, view.order);
  solution.anyOrderBound = boundOfAnyOrder(problem);
  solution.baselines = {{baseline->name, solution.evaluation.period}};
  solution.evaluations = 1;
  return solution;
}

} // namespace commsched::schedule
