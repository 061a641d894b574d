// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best schedules of a search so far.

#include "passes/schedule/solver/Search.h"

#include "passes/schedule/solver/Arrivals.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace commsched::schedule {

/// From the best so far: then it will not be wanted.
static constexpr double kFarBehind = 1.02;

/// What an evaluation costs beside its messages. One stream is not counted.
static size_t sizeOf(const Problem &problem) {
  return problem.ops.size() + problem.streams - 1;
}

double Search::offer(Schedule schedule) {
  if (applied)
    schedule = applied(std::move(schedule));
  else
    arrangePieces(problem, schedule);
  return offerAsIs(std::move(schedule));
}

double Search::offerAsIs(Schedule schedule) {
  ++evaluations;
  size_t stages = 0;
  for (const Message &message : schedule.messages)
    stages += message.priorities.size();
  left -= static_cast<int64_t>(stages + sizeOf(problem));
  Evaluation result = run.evaluate(schedule);
  double period = result.period;
  // A period that is only an average must be clearly better.
  if (any && !(period < bestPeriod)) {
    keepWithFewerMessages(period, schedule);
    return period;
  }
  if (any)
    keepWithFewerMessages(bestPeriod, best);
  any = true;
  bestPeriod = period;
  evaluation = std::move(result);
  best = std::move(schedule);
  return period;
}

void Search::keepWithFewerMessages(double period, const Schedule &schedule) {
  if (period > bestPeriod * kFarBehind)
    return;
  const uint64_t messages = std::min<uint64_t>(schedule.messages.size(), UINT32_MAX);
  const int about = std::bit_width(messages * messages);
  auto [own, isNew] = kept.try_emplace(about, Kept{period, {}});
  if (!isNew && period >= own->second.period)
    return;
  own->second = {period, schedule};
}

void Search::take(Search &&other) {
  left -= other.given - other.left;
  evaluations += other.evaluations;
  if (!(other.bestPeriod < bestPeriod))
    return keepWithFewerMessages(other.bestPeriod, other.best);
  keepWithFewerMessages(bestPeriod, best);
  bestPeriod = other.bestPeriod;
  evaluation = std::move(other.evaluation);
  best = std::move(other.best);
}

std::vector<Search::Kept> Search::withFewerMessages(double times) const {
  std::vector<Kept> result;
  double shortest = bestPeriod * times;
  for (const auto &[about, own] : kept)
    if (own.period <= shortest && own.schedule.messages.size() < best.messages.size()) {
      shortest = std::nextafter(own.period, 0); // with more messages it must be shorter
      result.push_back(own);
    }
  return result;
}

int64_t Search::tries(size_t messages) const {
  return left <= 0 ? 0 : left / static_cast<int64_t>(messages + sizeOf(problem) + 1);
}

} // namespace commsched::schedule
