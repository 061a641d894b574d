// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Robust.h"

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <algorithm>
#include <limits>

namespace commsched::schedule {

namespace {

struct Variation {
  unsigned jitter; ///< each op takes up to so many percent more or less
  unsigned seed;
  unsigned link;       ///< percent of the bandwidth
  unsigned latency;    ///< times
  Time latencyAtLeast; ///< nanoseconds
  Time overhead;       ///< nanoseconds more per message
  unsigned behind;     ///< percent of the period by which the others are behind
};

/// A thread that waits for a processor waits for a slice of the scheduler, some
/// milliseconds, at worst; a message goes through several threads.
constexpr Variation kVariations[] = {
    {20, 1, 100, 1, 0, 0, 0},
    {20, 2, 85, 1, 0, 0, 0},
    {0, 0, 100, 4, 200'000, 20'000, 0},
    {20, 3, 90, 8, 1'000'000, 20'000, 0},
    {0, 0, 100, 1, 0, 0, 5},
    {20, 4, 100, 4, 0, 0, 12},
};

Time scaled(Time time, unsigned percent) {
  return static_cast<Time>(static_cast<__int128>(time) * percent / 100);
}

Problem vary(Problem problem, const Variation &variation, double period) {
  // Of Numerical Recipes; the upper bits are used.
  uint32_t state = variation.seed;
  auto percent = [&] {
    state = state * 1664525u + 1013904223u;
    return 100 - variation.jitter + (state >> 16) % (2 * variation.jitter + 1);
  };
  for (Op &op : problem.ops)
    op.duration = scaled(op.duration, percent());
  auto behind = static_cast<Time>(period * variation.behind / 100);
  for (Communication &communication : problem.communications) {
    // A sum is there when the last of its parts is.
    if (Stage &first = communication.stages.front();
        problem.links[first.link].creditUntilSent)
      first.latency += behind;
    for (Stage &stage : communication.stages) {
      stage.latency = std::max(scaled(stage.latency, 100 * variation.latency),
                               variation.latencyAtLeast);
      stage.overhead += variation.overhead;
    }
  }
  for (Link &link : problem.links) {
    link.bytesPerSecond =
        std::max<int64_t>(1, scaled(link.bytesPerSecond, variation.link));
    // What it takes to hand over the next message.
    link.creditUntilSent &= variation.latencyAtLeast == 0;
  }
  return problem;
}

class Chooser {
public:
  Chooser(const View &view, const Variations &variations, double most, int64_t effort,
          Evaluation &evaluation, const Applied &applied)
      : view(view), variations(variations), most(most), left(effort),
        evaluation(evaluation), applied(applied) {}

  bool done() const { return left <= 0 && found; }
  bool any() const { return found; }

  void offer(Schedule schedule) {
    if (applied)
      schedule = applied(std::move(schedule));
    int64_t size = static_cast<int64_t>(view.problem.ops.size());
    for (const Message &message : schedule.messages)
      size += static_cast<int64_t>(message.priorities.size());
    left -= size;
    Evaluation result = variations.evaluateAsGiven(schedule);
    if (!(result.period <= most))
      return;
    left -= size * static_cast<int64_t>(variations.size() - 1);
    std::optional<double> ratio = variations.judge(schedule, result.period, bestRatio);
    if (!ratio || *ratio >= bestRatio)
      return;
    found = true;
    bestRatio = *ratio;
    best = std::move(schedule);
    evaluation = std::move(result);
  }

  void offerWithCredits(const Schedule &schedule) {
    for (int64_t times : {1, 2, 4, 8}) {
      if (done())
        return;
      Schedule wider = schedule;
      bool any = false;
      for (unsigned link = 0; link < wider.credit.size(); ++link) {
        int64_t &credit = wider.credit[link];
        if (credit >= kNoLimit / times || times == 1)
          continue;
        // A credit of less than a message is one of a message.
        credit = std::max(credit, longest(schedule)) * times;
        any = true;
      }
      if (any || times == 1)
        offer(wider);
    }
  }

  void offerWithPriorities(const Schedule &schedule) {
    for (auto prioritize : {prioritizeByConsumer, prioritizeLastStage})
      offerWithCredits(prioritized(schedule, prioritize));
  }

  Schedule prioritized(Schedule schedule,
                       void (*prioritize)(const View &, Message &)) const {
    for (Message &message : schedule.messages)
      prioritize(view, message);
    return schedule;
  }

  Schedule take() { return std::move(best); }

private:
  static int64_t longest(const Schedule &schedule) {
    int64_t bytes = 1;
    for (const Message &message : schedule.messages) {
      int64_t sum = 0;
      for (const Piece &piece : message.pieces)
        sum += piece.end - piece.begin;
      bytes = std::max(bytes, sum);
    }
    return bytes;
  }

  const View &view;
  const Variations &variations;
  double most;
  int64_t left;
  Evaluation &evaluation;
  const Applied &applied;
  bool found = false;
  double bestRatio = std::numeric_limits<double>::infinity();
  Schedule best;
};

} // namespace

Variations::Variations(const Problem &problem) {
  const Problem given = asGiven(problem);
  bounds.push_back(boundOfAnyOrder(given).period);
  ofMessage = hiddenCost(problem);
  problems.emplace_back(problem);
  for (const Variation &variation : kVariations) {
    Problem varied = vary(given, variation, bounds.front());
    if (check(varied))
      continue; // times that cannot be counted
    bounds.push_back(boundOfAnyOrder(varied).period);
    problems.emplace_back(varied);
  }
}

std::optional<double> Variations::judge(const Schedule &schedule, double nominal,
                                        double limit) const {
  double sum = 0;
  const double messages = costOfMessages(schedule) / bounds.front();
  double count = static_cast<double>(bounds.size());
  for (size_t i = 0; i < problems.size(); ++i) {
    // The others are 1 at least.
    if ((sum + static_cast<double>(problems.size() - i)) / count + messages > limit)
      return std::nullopt;
    sum += (i == 0 ? nominal : problems[i].evaluate(schedule).period) / bounds[i];
  }
  return sum / count + messages;
}

Schedule mostRobust(const View &view, const Variations &variations,
                    std::vector<Schedule> schedules, double most, int64_t effort,
                    Evaluation &evaluation, const Applied &applied) {
  Chooser chooser(view, variations, most, effort, evaluation, applied);
  // Priorities by consumer first: where nothing depends on them, they are taken.
  for (const Schedule &schedule : schedules) {
    chooser.offer(chooser.prioritized(schedule, prioritizeByConsumer));
    chooser.offer(schedule);
  }
  for (const Schedule &schedule : schedules) {
    chooser.offerWithPriorities(schedule);
    chooser.offerWithCredits(schedule);
  }
  int64_t longest = 0;
  for (const Communication &communication : view.problem.communications)
    if (communication.divisible)
      longest = std::max(longest, communication.bytes);
  for (int64_t slice = longest; slice > 0 && slice >= longest / 32; slice /= 2) {
    if (chooser.done())
      break;
    Schedule equal = byteScheduler(view, slice, slice);
    equal.name = schedules.front().name;
    chooser.offerWithPriorities(equal);
  }
  return chooser.any() ? chooser.take() : std::move(schedules.front());
}

} // namespace commsched::schedule
