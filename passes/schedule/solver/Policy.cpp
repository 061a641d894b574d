// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Policy.h"

#include "passes/schedule/solver/Coarsen.h"
#include "passes/schedule/solver/Exclusive.h"
#include "passes/schedule/solver/Robust.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <algorithm>

namespace commsched::schedule {

static constexpr std::string_view kFixedBuckets = "fixed-buckets";

/// For a schedule that is better with other costs.
static constexpr double kMostLonger = 1.03;

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

bool hasBuckets(std::string_view policy) { return policy == kFixedBuckets; }

std::string checkBuckets(const BucketLimits &limits, std::string_view policy) {
  for (auto [what, bytes] : {std::pair{"bucket-bytes", limits.bytes},
                             std::pair{"first-bucket-bytes", limits.first}})
    if (bytes < 1)
      return std::string(what) + " must be positive, got: " + std::to_string(bytes);
  if (!hasBuckets(policy) && limits != BucketLimits())
    return "bucket-bytes and first-bucket-bytes must go with the policy fixed-buckets, got: " +
           std::string(policy);
  return "";
}

std::string checkEffort(int64_t effort, std::string_view policy) {
  if (effort < 0)
    return "effort must not be negative, got: " + std::to_string(effort);
  constexpr int64_t kMost = 1'000'000'000;
  if (effort > kMost)
    return "effort must be at most " + std::to_string(kMost) + ", got: " + std::to_string(effort);
  if (effort != 0 && policy != kSolver)
    return "effort must go with the policy solver, got: " + std::string(policy);
  return "";
}

bool isPolicy(std::string_view name) {
  return name == kSolver || findBaseline(name);
}

/// What is predicted to the nanosecond is not what will be. A schedule is wanted that is
/// good with other costs too: it may take a thirtieth longer with those given, but not
/// longer than any baseline. And a message costs processor time that no problem
/// describes: where that makes nothing worse, there are fewer.
static void settle(const Problem &problem, Solution &solution, int64_t effort,
                   const Applied &applied) {
  double fastest = solution.evaluation.period;
  double most =
      std::min(fastest * kMostLonger, std::max(solution.bestBaseline, fastest));
  Variations variations(problem);
  View view(problem, solution.schedule.order);
  std::vector<Schedule> schedules = {solution.schedule};
  Evaluation evaluation = solution.evaluation;
  schedules.push_back(coarsen(view, solution.schedule, evaluation,
                              std::min(most, fastest * 1.005), effort, applied));
  // Not longer than what they have fewer messages for.
  for (const Schedule &fewer : solution.fewer)
    if (variations.evaluateAsGiven(fewer).period + variations.costOfMessages(fewer) <=
        fastest + variations.costOfMessages(solution.schedule))
      schedules.push_back(fewer);
  if (solution.schedule.order == programOrder(problem))
    for (const auto &[name, period] : solution.baselines)
      if (period <= most)
        schedules.push_back(findBaseline(name)->make(view));
  solution.schedule = mostRobust(view, variations, std::move(schedules), most, effort,
                                 solution.evaluation, applied);
  std::optional<double> ratio =
      variations.judge(solution.schedule, solution.evaluation.period, kNever);
  evaluation = solution.evaluation;
  Schedule fewer = coarsen(view, solution.schedule, evaluation,
                           std::max(most, evaluation.period), effort, applied);
  std::optional<double> other = variations.judge(fewer, evaluation.period, *ratio);
  if (other && *other <= *ratio) {
    solution.schedule = std::move(fewer);
    solution.evaluation = std::move(evaluation);
  }
  solution.bound = boundOfOrder(problem, solution.schedule.order);
}

/// With as many rounds in a half or fewer, all of the effort.
static constexpr int64_t kFewRounds = 15;

/// Thousands of messages to simulate.
static int64_t defaultEffort(const Problem &problem) {
  auto size = static_cast<int64_t>(problem.communications.size() + problem.ops.size());
  // Copies between the devices of a node are stages of their own, and what is best for
  // one of them need not be for the others.
  bool copies = std::any_of(problem.communications.begin(), problem.communications.end(),
                            [](const Communication &c) { return c.stages.size() > 2; });
  const int64_t effort = std::max(std::clamp<int64_t>(20 * size, 200, copies ? 9000 : 3000), size / 10);
  // A message of many rounds takes so much longer to simulate.
  unsigned rounds = 1;
  for (const Link &link : problem.links)
    rounds = std::max(rounds, link.rounds);
  return std::max<int64_t>(1, effort * kFewRounds / std::max<int64_t>(kFewRounds, rounds));
}

Solution runPolicy(const Problem &problem, std::string_view name,
                   SolverOptions options) {
  if (name == kSolver) {
    if (options.effort == 0)
      options.effort = defaultEffort(problem);
    Solution solution = solve(problem, options);
    settle(problem, solution, options.effort * 1000, options.applied);
    // What is applied becomes other messages yet.
    if (!options.applied) {
      solution.schedule = shortestWithExclusive(problem, std::move(solution.schedule), solution.rivals);
      solution.evaluation = evaluate(problem, solution.schedule);
    }
    return solution;
  }
  const Baseline *baseline = findBaseline(name);
  View view(problem, programOrder(problem));
  Solution solution;
  solution.schedule = name == kFixedBuckets ? fixedBuckets(view, options.buckets)
                                            : baseline->make(view);
  if (options.applied)
    solution.schedule = options.applied(std::move(solution.schedule));
  solution.evaluation = evaluate(problem, solution.schedule);
  solution.bound = boundOfOrder(problem, view.order);
  solution.anyOrderBound = boundOfAnyOrder(problem);
  solution.baselines = {{baseline->name, solution.evaluation.period}};
  solution.evaluations = 1;
  return solution;
}

} // namespace commsched::schedule
