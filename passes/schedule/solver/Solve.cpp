// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Baselines first, then the family of choices, then other orders of compute, then
// changes of single messages and ops.

#include "passes/schedule/solver/Solve.h"

#include "passes/schedule/solver/Partition.h"
#include "passes/schedule/solver/Search.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <algorithm>

namespace commsched::schedule {

// Messages to simulate: within a second for a thousand tensors, within a minute for
// a hundred thousand.
static int64_t defaultEffort(const Problem &problem) {
  auto size = static_cast<int64_t>(problem.communications.size() + problem.ops.size());
  return std::max<int64_t>(3'000'000, 100 * size);
}

/// Of the best baseline; how messages are written down changes less.
static constexpr double kNear = 1.05;
static constexpr double kNearlyAsShort = 1.005;

/// Half of what may still be tried is changes of a schedule with fewer messages, if one is nearly as short as the best:
/// there are more of them, and as short as that it is better.
static void searchAroundFewer(Search &search, const View &view) {
  const double ofMessage = hiddenCost(search.problem);
  Schedule *best = nullptr;
  double least = kNever;
  std::vector<Search::Kept> kept = search.withFewerMessages(kNearlyAsShort);
  for (Search::Kept &own : kept) {
    const double cost = own.period + ofMessage * static_cast<double>(own.schedule.messages.size());
    if (own.schedule.order != view.order || cost >= least)
      continue;
    least = cost;
    best = &own.schedule;
  }
  if (!best)
    return;
  Search around(search.problem, search.target, search.left / 2, search.applied);
  around.offerAsIs(std::move(*best));
  searchLocally(around, view);
  search.take(std::move(around));
}

Solution solve(const Problem &problem, const SolverOptions &options) {
  Solution solution;
  View view(problem, programOrder(problem));
  solution.anyOrderBound = boundOfAnyOrder(problem);
  int64_t effort =
      options.effort > 0 ? options.effort * 1000 : defaultEffort(problem);
  // A ten-thousandth from the best is good enough to stop.
  const Problem given = asGiven(problem);
  double target = options.reorder && !deferrableOps(view).empty()
                      ? boundOfAnyOrder(given).period
                      : boundOfOrder(given, view.order).period;
  Search search(problem, target * 1.0001, effort, options.applied);
  // P3 makes messages by bytes: of more than these it would take minutes to judge.
  bool large = sliceCount(problem, 50000 * 4) > 2'000'000;
  std::vector<std::pair<double, Schedule>> rivals;
  for (const Baseline &baseline : baselines()) {
    if (large && !baseline.cheap)
      continue;
    Schedule schedule = baseline.make(view);
    double period = options.applied ? evaluate(problem, schedule).period : kNever;
    if (options.applied)
      schedule = options.applied(std::move(schedule));
    double ours = search.offerAsIs(schedule);
    solution.bestBaseline = std::min({solution.bestBaseline, period, ours});
    rivals.emplace_back(ours, std::move(schedule));
    if (!options.applied)
      period = ours;
    if (period < kNever)
      solution.baselines.emplace_back(baseline.name, period);
  }
  for (auto &[period, schedule] : rivals)
    if (period <= search.bestPeriod * kNear)
      solution.rivals.push_back(std::move(schedule));
  search.left = effort;
  Choice choice;
  searchChoices(search, view, choice, /*thorough=*/true);
  const View *bestView = &view;
  std::vector<View> views;
  if (options.reorder && !search.perfect()) {
    std::vector<Order> orders = ordersToTry(view);
    views.reserve(orders.size());
    // A third of the effort for them.
    int64_t kept = search.left * 2 / 3;
    search.left -= kept;
    for (Order &order : orders) {
      if (search.done())
        break;
      views.emplace_back(problem, std::move(order));
      Schedule probe = emptySchedule(views.back(), "");
      if (problem.memoryLimit &&
          peakBytes(problem, probe.order) >
              peakBytes(problem, view.order) + *problem.memoryLimit)
        continue;
      double before = search.bestPeriod;
      Choice here = choice;
      searchChoices(search, views.back(), here, /*thorough=*/false);
      if (search.bestPeriod < before) {
        bestView = &views.back();
        choice = here;
      }
    }
    search.left = std::max<int64_t>(search.left, 0) + kept;
  }
  if (search.any) {
    searchAroundFewer(search, *bestView);
    searchLocally(search, *bestView);
    auto tries = std::min<int64_t>(15000, search.tries(search.best.messages.size()));
    anneal(search, *bestView, static_cast<unsigned>(tries), options.reorder);
    searchLocally(search, View(problem, search.best.order));
  }
  for (Search::Kept &own : search.withFewerMessages(kNearlyAsShort))
    if (own.schedule.order == search.best.order)
      solution.fewer.push_back(std::move(own.schedule));
  solution.schedule = std::move(search.best);
  solution.evaluation = std::move(search.evaluation);
  solution.evaluations = search.evaluations;
  solution.bound = boundOfOrder(problem, solution.schedule.order);
  return solution;
}

} // namespace commsched::schedule
