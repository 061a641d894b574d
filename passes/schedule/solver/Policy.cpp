// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Policy.h"

#include "passes/schedule/solver/Coarsen.h"
#include "passes/schedule/solver/baselines/Baselines.h"

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

/// A message costs more than its times on the link: fewer are better, for a
/// two-hundredth of the period. A baseline that is then ahead with as few messages
/// is taken instead.
static void coarsen(const Problem &problem, Solution &solution, int64_t effort) {
  View view(problem, solution.schedule.order);
  double most = solution.evaluation.period * 1.005;
  solution.schedule = coarsen(view, std::move(solution.schedule), solution.evaluation,
                              most, effort);
  for (const auto &[name, period] : solution.baselines) {
    if (period >= solution.evaluation.period)
      continue;
    View program(problem, programOrder(problem));
    Schedule schedule = findBaseline(name)->make(program);
    if (schedule.messages.size() > solution.schedule.messages.size())
      continue;
    solution.evaluation = evaluate(problem, schedule);
    solution.schedule = std::move(schedule);
  }
}

/// What is predicted to a nanosecond is not what will be. Of the solver's priorities,
/// which fit the costs given exactly, those are kept that matter: where priorities by
/// the first consumer are as good, but for a five-hundredth, they are taken.
static void simplify(const Problem &problem, Solution &solution) {
  double most = solution.evaluation.period * 1.002;
  for (const auto &[name, period] : solution.baselines)
    most = std::min(most, std::max(period, solution.evaluation.period));
  View view(problem, solution.schedule.order);
  for (auto prioritize : {prioritizeByConsumer, prioritizeLastStage}) {
    Schedule simple = solution.schedule;
    for (Message &message : simple.messages)
      prioritize(view, message);
    Evaluation evaluation = evaluate(problem, simple);
    if (evaluation.period > most)
      continue;
    solution.schedule = std::move(simple);
    solution.evaluation = std::move(evaluation);
    return;
  }
}

Solution runPolicy(const Problem &problem, std::string_view name,
                   SolverOptions options) {
  if (name == kSolver) {
    auto size = static_cast<int64_t>(problem.communications.size() +
                                     problem.ops.size());
    if (options.effort == 0)
      options.effort = std::max(std::clamp<int64_t>(20 * size, 200, 3000), size / 10);
    Solution solution = solve(problem, options);
    coarsen(problem, solution, options.effort * 1000);
    solution.bound = boundOfOrder(problem, solution.schedule.order);
    simplify(problem, solution);
    return solution;
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
