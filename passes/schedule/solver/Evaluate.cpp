// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes a schedule until its steps repeat themselves, and what follows from that: the
// period, what is exposed, a timeline.

#include "passes/schedule/solver/Execution.h"

#include <algorithm>

namespace commsched::schedule {

namespace {

/// An execution that has run until its steps repeat, or long enough.
struct Repeating {
  Execution execution;
  Evaluation evaluation;
  std::vector<Time> ends; ///< of all steps
  size_t from = 0;        ///< step from which on they repeat

  Repeating(const Problem &problem, const Schedule &schedule, unsigned maxSteps,
            const Sharing &sharing, const std::vector<unsigned> &exchanges, Timeline *timeline = nullptr);

private:
  bool run(unsigned maxSteps);
};

Repeating::Repeating(const Problem &problem, const Schedule &schedule, unsigned maxSteps,
                     const Sharing &sharing, const std::vector<unsigned> &exchanges, Timeline *timeline)
    : execution(problem, schedule, sharing, exchanges, timeline) {
  evaluation.exposed.resize(problem.communications.size());
  if (!run(std::max(maxSteps, 2u))) { // something waits for itself
    evaluation.period = kNever;
    evaluation.settled = false;
    return;
  }
  evaluation.firstStep = ends.front();
  double count = static_cast<double>(ends.size() - 1 - from);
  evaluation.period = static_cast<double>(ends.back() - ends[from]) / count;
  // A stall belongs to the step that was being computed when it ended.
  for (const Execution::Stall &stall : execution.stallsSoFar())
    if (stall.steps > from && stall.steps < ends.size())
      evaluation.exposed[stall.communication] += static_cast<double>(stall.time) / count;
}

/// False if a step never ends.
bool Repeating::run(unsigned maxSteps) {
  std::vector<std::vector<int64_t>> states;
  for (;;) {
    bool same = execution.begin();
    if (same && execution.stepsComputed() < maxSteps) {
      // Of no duration: part of this instant.
    } else if (execution.stepsComputed() > ends.size()) {
      // Several steps of no duration may end at once.
      ends.resize(execution.stepsComputed(), execution.now());
      states.resize(ends.size());
      states.back() = execution.state();
      auto before = std::find(states.begin(), states.end() - 1, states.back());
      if (before != states.end() - 1) {
        from = before - states.begin();
        return true;
      }
      if (ends.size() >= maxSteps) {
        from = (ends.size() - 1) / 2;
        evaluation.settled = false;
        return true;
      }
    }
    if (!execution.advance())
      return false;
  }
}

} // namespace

Timeline traceSteps(const Problem &problem, const Schedule &schedule, unsigned steps, unsigned maxSteps, const Sharing &sharing,
                    const std::vector<unsigned> &exchanges) {
  if (takesTooLong(problem, schedule))
    return {};
  Timeline result;
  Repeating repeating(problem, schedule, maxSteps, sharing, exchanges, &result);
  if (repeating.evaluation.period >= kNever)
    return {};
  result.settled = repeating.evaluation.settled;
  std::vector<Time> &ends = repeating.ends;
  size_t from = result.settled ? repeating.from : ends.size() - 1;
  // One more, whose compute the last messages of interest may reach into.
  while (ends.size() < from + steps + 2) {
    if (!repeating.execution.begin())
      ends.resize(std::max<size_t>(ends.size(), repeating.execution.stepsComputed()),
                  repeating.execution.now());
    if (!repeating.execution.advance())
      break;
  }
  result.firstStep = from + 1;
  for (size_t i = from; i < ends.size() && i <= from + steps; ++i)
    result.steps.push_back(ends[i]);
  return result;
}

Evaluation runSteps(const Problem &problem, const Schedule &schedule, unsigned maxSteps, const Sharing &sharing,
                    const std::vector<unsigned> &exchanges) {
  if (takesTooLong(problem, schedule)) {
    Evaluation never;
    never.period = kNever;
    never.exposed.resize(problem.communications.size());
    never.settled = false;
    return never;
  }
  return std::move(Repeating(problem, schedule, maxSteps, sharing, exchanges).evaluation);
}

} // namespace commsched::schedule
