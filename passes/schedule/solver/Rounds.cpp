// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Rounds.h"

#include "plan/packets.h"

#include <algorithm>

namespace commsched::schedule {

/// Enough to tell which of two schedules is shorter, where steps do not repeat.
static constexpr unsigned kStepsOfRounds = 12;

/// One of `rounds` equal parts, which are all of it together.
static Time partOf(Time whole, unsigned round, unsigned rounds) {
  return whole * (round + 1) / rounds - whole * round / rounds;
}

Rounds::Rounds(const Problem &given) : problem(given) {
  if (std::all_of(given.links.begin(), given.links.end(),
                  [](const Link &link) { return link.peers == 1; }))
    return;
  problem.links.clear();
  for (unsigned i = 0; i < given.links.size(); ++i) {
    Link link = given.links[i];
    peers.push_back(link.peers);
    first.push_back(static_cast<unsigned>(problem.links.size()));
    if (link.peers > 1) {
      link.packetBytes = static_cast<int64_t>(
          plan::PacketBytes(transferTime(link, plan::kLargePacket)));
      link.aheadBytes = plan::kSocketBytes;
    }
    link.peers = 1;
    problem.links.insert(problem.links.end(), peers.back(), link);
    media.insert(media.end(), peers.back(), i);
  }
  for (Communication &communication : problem.communications) {
    std::vector<Stage> stages;
    std::vector<unsigned> &own = stageOf.emplace_back();
    std::vector<bool> halved(given.links.size());
    for (unsigned i = 0; i < communication.stages.size(); ++i) {
      const Stage &stage = communication.stages[i];
      unsigned rounds = peers[stage.link];
      bool doubles = halved[stage.link];
      halved[stage.link] = true;
      const int64_t parts = (int64_t{1} << rounds) - 1;
      auto before = [&](unsigned round) { // bytes of the rounds before
        int64_t share = doubles ? (int64_t{1} << round) - 1
                                : parts + 1 - (int64_t{1} << (rounds - round));
        return static_cast<int64_t>(static_cast<__int128>(stage.bytes) * share / parts);
      };
      for (unsigned round = 0; round < rounds; ++round) {
        Stage one = stage;
        one.link = first[stage.link] + (doubles ? rounds - 1 - round : round);
        one.bytes = before(round + 1) - before(round);
        one.overhead = partOf(stage.overhead, round, rounds);
        one.latency = partOf(stage.latency, round, rounds);
        one.avoidableOverhead = one.avoidableLatency = 0;
        one.update = round + 1 == rounds ? stage.update : 0;
        stages.push_back(one);
        own.push_back(i);
      }
    }
    communication.stages = std::move(stages);
    communication.tail = std::min(communication.tail, communication.stages.back().bytes);
  }
}

Evaluation Rounds::evaluate(const Schedule &schedule) const {
  if (!any())
    return schedule::evaluate(problem, schedule);
  Schedule other = schedule;
  for (Message &message : other.messages) {
    std::vector<int64_t> priorities;
    for (unsigned stage : stageOf[message.pieces.front().communication])
      priorities.push_back(message.priorities[stage]);
    message.priorities = std::move(priorities);
  }
  other.credit.clear();
  for (size_t i = 0; i < peers.size(); ++i) {
    int64_t credit = schedule.credit[i];
    // In bytes of the round that a message is in.
    if (credit != kNoLimit)
      credit = std::max<int64_t>(1, credit / peers[i] + (credit % peers[i] != 0));
    other.credit.insert(other.credit.end(), peers[i], peers[i] > 1 ? credit : schedule.credit[i]);
  }
  return schedule::evaluate(problem, other, kStepsOfRounds, media);
}

} // namespace commsched::schedule
