// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Exclusive.h"

#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Order.h"
#include "plan/exclusive.h"
#include "plan/packets.h"

#include <algorithm>

namespace commsched::schedule {

/// A step must become shorter by so much of it.
static constexpr double kLeastGain = 1e-4;
/// After so many numbers of messages in a row that make nothing shorter, no more are tried.
static constexpr unsigned kInVain = 6;
/// So many times as long as a message of a round takes behind what cannot be overtaken, the others wait for it.
static constexpr Time kTimes = 2;
static constexpr Time kLeastPatience = 1'000'000, kRounded = 10'000;

/// Of the first half of an all-reduce by rounds, over connections that send packets, the most urgent first; null: it is none.
static const Stage *halfOf(const Problem &problem, const Communication &communication) {
  for (size_t i = 0; i + 1 < communication.stages.size(); ++i) {
    const Stage &stage = communication.stages[i];
    const Link &link = problem.links[stage.link];
    if (!link.byConnection && (link.rounds > 1 || link.peers > 1 || link.packetBytes > 0) && communication.stages[i + 1].link == stage.link)
      return &stage;
  }
  return nullptr;
}

/// How long others wait for a message of one of its rounds at most: what a socket has, and a packet, are before it at its sender.
static Time patienceOf(const Problem &problem, const Message &message) {
  const Communication &communication = problem.communications[message.pieces.front().communication];
  const Stage &stage = *halfOf(problem, communication);
  const Link &link = problem.links[stage.link];
  int64_t bytes = 0;
  for (const Piece &piece : message.pieces)
    bytes += piece.end - piece.begin;
  const unsigned rounds = std::max(link.rounds, link.peers);
  // The first round of halving has half of all, one around a ring less.
  const int64_t round = link.rounds > 1 ? stage.bytes / link.rounds : stage.bytes;
  const auto own = static_cast<int64_t>(static_cast<__int128>(round) * bytes / communication.bytes);
  const auto packet = static_cast<int64_t>(plan::PacketBytes(transferTime(link, plan::kLargePacket)));
  const Time longest = (stage.overhead + stage.latency) / rounds + transferTime(link, own) +
                       transferTime(link, packet + static_cast<int64_t>(plan::kSocketBytes));
  const Time patience = std::min(longest, plan::kMostPatience / kTimes) * kTimes;
  return (std::max(kLeastPatience, patience) + kRounded - 1) / kRounded * kRounded;
}

/// Messages of all-reduces by rounds, those that are needed first in front.
static std::vector<unsigned> firstNeededFirst(const Problem &problem, const Schedule &schedule) {
  std::vector<unsigned> messages;
  for (unsigned i = 0; i < schedule.messages.size(); ++i)
    if (halfOf(problem, problem.communications[schedule.messages[i].pieces.front().communication]))
      messages.push_back(i);
  if (messages.empty())
    return messages;
  const View view(problem, schedule.order);
  std::vector<int64_t> needed(schedule.messages.size());
  for (const unsigned i : messages)
    needed[i] = firstNeed(view, schedule.messages[i]);
  std::stable_sort(messages.begin(), messages.end(), [&](unsigned a, unsigned b) { return needed[a] < needed[b]; });
  return messages;
}

std::pair<Schedule, double> withExclusive(const Problem &problem, Schedule schedule, const Applied &written) {
  const std::vector<unsigned> candidates = firstNeededFirst(problem, schedule);
  if (candidates.empty())
    return {schedule, evaluate(problem, written ? written(schedule) : schedule).period};
  const Connections run(problem);
  const auto periodOf = [&](const Schedule &own) {
    return run.evaluate(written ? written(own) : own).period;
  };
  for (Message &message : schedule.messages)
    message.exclusive = 0;
  double shortest = periodOf(schedule);
  Schedule best = schedule;
  // Those that are tried are more urgent than all others, and each than the next one.
  int64_t first = 0;
  for (const Message &message : schedule.messages)
    first = std::min(first, *std::min_element(message.priorities.begin(), message.priorities.end()));
  first -= static_cast<int64_t>(candidates.size());
  unsigned inVain = 0;
  for (size_t count = 1, done = 0; count <= candidates.size() && inVain < kInVain; count += (count + 2) / 3, ++inVain) {
    for (; done < count; ++done) {
      Message &message = schedule.messages[candidates[done]];
      std::fill(message.priorities.begin(), message.priorities.end(), first + static_cast<int64_t>(done));
      message.exclusive = patienceOf(problem, message);
    }
    if (const double period = periodOf(schedule); period < shortest * (1 - kLeastGain)) {
      shortest = period;
      best = schedule;
      inVain = 0;
    }
  }
  return {std::move(best), shortest};
}

Schedule shortestWithExclusive(const Problem &problem, Schedule schedule, const std::vector<Schedule> &others, const Applied &written) {
  if (firstNeededFirst(problem, schedule).empty())
    return schedule;
  auto [best, shortest] = withExclusive(problem, std::move(schedule), written);
  for (const Schedule &other : others) {
    if (other.order != best.order)
      continue;
    auto [own, period] = withExclusive(problem, other, written);
    if (period >= shortest * (1 - kLeastGain))
      continue;
    shortest = period;
    best = std::move(own);
  }
  return best;
}

} // namespace commsched::schedule
