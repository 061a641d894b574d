// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Connections.h"

#include "plan/packets.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace commsched::schedule {

/// Enough to tell which of two schedules is shorter, where steps do not repeat.
static constexpr unsigned kSteps = 12;

/// One of `rounds` equal parts, which are all of it together.
static Time partOf(Time whole, unsigned round, unsigned rounds) {
  return whole * (round + 1) / rounds - whole * round / rounds;
}

/// In which nothing is overtaken: longer than a step.
static int64_t packetOfAll(const Link &link) {
  __int128 bytes = static_cast<__int128>(kMaxStepTime) * link.bytesPerSecond / 1'000'000'000 + 1;
  return static_cast<int64_t>(std::min<__int128>(bytes, INT64_MAX));
}

static bool hasSeveral(const Link &link) { return link.peers > 1 || link.byConnection; }

static int64_t packetBytesOf(const Link &link) {
  return static_cast<int64_t>(plan::PacketBytes(transferTime(link, plan::kLargePacket)));
}

/// Splits the links of one problem.
class Connections::Splitter {
public:
  explicit Splitter(Connections &to) : to(to) {}

  void split(Communication &communication) {
    std::vector<Stage> stages;
    std::vector<unsigned> &own = to.stageOf.emplace_back();
    std::vector<bool> halved(to.given.size());
    bool comesBack = false;
    for (unsigned i = 0; i < communication.stages.size(); ++i) {
      const Stage &stage = communication.stages[i];
      const Link &link = to.given[stage.link];
      size_t before = stages.size();
      if (link.byConnection) {
        stages.push_back(onConnection(stage, communication.connection, comesBack));
        comesBack = true;
      } else {
        addRounds(stages, stage, halved[stage.link]);
        halved[stage.link] = true;
      }
      own.insert(own.end(), stages.size() - before, i);
    }
    communication.stages = std::move(stages);
    communication.tail = std::min(communication.tail, communication.stages.back().bytes);
  }

private:
  /// That of one connection, and of what goes there or comes back, on its own of the given link.
  unsigned linkOf(unsigned link, unsigned connection, bool back, int64_t packetBytes, int64_t aheadBytes) {
    auto [known, isNew] = links.try_emplace({link, connection, back}, static_cast<unsigned>(to.problem.links.size()));
    if (isNew) {
      Link one = to.given[link];
      one.packetBytes = packetBytes;
      one.aheadBytes = aheadBytes;
      one.peers = 1;
      one.byConnection = false;
      to.problem.links.push_back(one);
      to.media.push_back(link);
    }
    return known->second;
  }

  /// A push is not overtaken on its connection, what comes back is by packets.
  Stage onConnection(Stage stage, unsigned server, bool comesBack) {
    const Link &link = to.given[stage.link];
    stage.link = comesBack ? linkOf(stage.link, server, 1, packetBytesOf(link), plan::kSocketBytes)
                           : linkOf(stage.link, server, 0, packetOfAll(link), 0);
    return stage;
  }

  void addRounds(std::vector<Stage> &stages, const Stage &stage, bool doubles) {
    const Link &link = to.given[stage.link];
    const unsigned rounds = link.peers;
    const int64_t parts = (int64_t{1} << rounds) - 1;
    auto before = [&](unsigned round) { // bytes of the rounds before
      int64_t share = doubles ? (int64_t{1} << round) - 1
                              : parts + 1 - (int64_t{1} << (rounds - round));
      return static_cast<int64_t>(static_cast<__int128>(stage.bytes) * share / parts);
    };
    for (unsigned round = 0; round < rounds; ++round) {
      Stage one = stage;
      unsigned peer = doubles ? rounds - 1 - round : round;
      one.link = rounds > 1 ? linkOf(stage.link, peer, 0, packetBytesOf(link), plan::kSocketBytes)
                            : linkOf(stage.link, peer, 0, link.packetBytes, link.aheadBytes);
      one.bytes = before(round + 1) - before(round);
      one.overhead = partOf(stage.overhead, round, rounds);
      one.latency = partOf(stage.latency, round, rounds);
      one.avoidableOverhead = one.avoidableLatency = 0;
      one.update = round + 1 == rounds ? stage.update : 0;
      stages.push_back(one);
    }
  }

  Connections &to;
  std::map<std::tuple<unsigned, unsigned, bool>, unsigned> links; ///< by given link, connection, and whether back
};

Connections::Connections(const Problem &problem) : problem(problem), given(problem.links) {
  if (!hasConnections(problem))
    return;
  this->problem.links.clear();
  Splitter splitter(*this);
  for (Communication &communication : this->problem.communications)
    splitter.split(communication);
}

Evaluation Connections::evaluate(const Schedule &schedule) const {
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
  for (unsigned medium : media) {
    const Link &link = given[medium];
    int64_t credit = link.byConnection ? kNoLimit : schedule.credit[medium];
    // In bytes of the round that a message is in.
    if (credit != kNoLimit && link.peers > 1)
      credit = std::max<int64_t>(1, credit / link.peers + (credit % link.peers != 0));
    other.credit.push_back(credit);
  }
  return schedule::evaluate(problem, other, kSteps, media);
}

bool hasConnections(const Problem &problem) {
  return std::any_of(problem.links.begin(), problem.links.end(), hasSeveral);
}

Evaluation evaluateAsRun(const Problem &problem, const Schedule &schedule) {
  return Connections(problem).evaluate(schedule);
}

} // namespace commsched::schedule
