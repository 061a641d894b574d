// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Connections.h"

#include "passes/schedule/solver/Execution.h"
#include "plan/packets.h"
#include "plan/slices.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace commsched::schedule {

/// Enough to tell which of two schedules is shorter, where steps do not repeat.
static constexpr unsigned kSteps = 12;

/// So many of equal parts, which are all of it together.
static int64_t partsBefore(int64_t whole, unsigned part, unsigned parts) {
  return static_cast<int64_t>(static_cast<__int128>(whole) * part / parts);
}
static Time partOf(Time whole, unsigned round, unsigned rounds) {
  return partsBefore(whole, round + 1, rounds) - partsBefore(whole, round, rounds);
}

/// Whether what it is given does not go whole, in the order in which it was given.
static bool hasPackets(const Link &link) { return link.peers > 1 || link.rounds > 1 || link.packetBytes > 0 || link.byConnection; }

/// A slice of a message. It is cut where its bytes are one piece behind the other; a piece that comes with its message has a part in each slice.
static std::vector<Piece> partOf(const std::vector<Piece> &pieces, unsigned slice, unsigned slices, bool inOrder) {
  int64_t whole = 0, at = 0;
  for (const Piece &piece : pieces)
    whole += piece.end - piece.begin;
  const int64_t first = partsBefore(whole, slice, slices), last = partsBefore(whole, slice + 1, slices);
  std::vector<Piece> parts;
  for (const Piece &piece : pieces) {
    const int64_t size = piece.end - piece.begin;
    const int64_t begin = inOrder ? std::clamp<int64_t>(first - at, 0, size) : partsBefore(size, slice, slices);
    const int64_t end = inOrder ? std::clamp<int64_t>(last - at, 0, size) : partsBefore(size, slice + 1, slices);
    at += size;
    if (begin < end)
      parts.push_back({piece.communication, piece.begin + begin, piece.begin + end});
  }
  return parts;
}

/// Those of recursive doubling, on a link with packets. Of ranks that are no power of two some stand in for others, a round before and one behind.
static unsigned roundsOfOnce(const Link &link) {
  if (link.peers > 1)
    return link.peers;
  const unsigned ranks = link.rounds + 1;
  return static_cast<unsigned>(std::bit_width(ranks)) - 1 + (std::has_single_bit(ranks) ? 0 : 2);
}

/// As a connection between ranks has them.
static Link withPackets(Link link) {
  link.packetBytes = static_cast<int64_t>(plan::PacketBytes(transferTime(link, plan::kLargePacket)));
  link.aheadBytes = plan::kSocketBytes;
  return link;
}

/// Splits the links of one problem.
class Connections::Splitter {
public:
  Splitter(Connections &to, const std::vector<Link> &links) : to(to), given(links) {}

  void split(Communication &communication) {
    std::vector<Stage> stages;
    std::vector<unsigned> &own = to.sharing.stageOf.emplace_back();
    std::vector<bool> halved(given.size());
    Rounds &rounds = to.rounds.emplace_back();
    Sharing::Once &once = to.sharing.once.emplace_back();
    bool comesBack = false, twice = false;
    for (unsigned i = 0; i < communication.stages.size(); ++i) {
      const Stage &stage = communication.stages[i];
      const Link &link = given[stage.link];
      size_t before = stages.size();
      if (link.byConnection) {
        stages.push_back(onConnection(stage, communication.connection, comesBack));
        comesBack = true;
      } else {
        const bool second = halved[stage.link];
        addRounds(stages, stage, second);
        // All of it is there behind the first rounds; what is behind the second half follows.
        if (hasPackets(link) && !second && once.begin == once.end) {
          once = {link.onceBytes, static_cast<unsigned>(before), static_cast<unsigned>(before) + roundsOfOnce(link), static_cast<unsigned>(stages.size())};
        } else if (hasPackets(link) && second && once.behind == before) {
          once.behind = static_cast<unsigned>(stages.size());
          twice = true;
        }
        if (link.peers == 1 && hasPackets(link)) { // around a ring, of two ranks too
          rounds.count += link.rounds;
          rounds.ranks = link.rounds + 1;
        }
        halved[stage.link] = true;
      }
      own.insert(own.end(), stages.size() - before, i);
    }
    if (!twice) // no all-reduce
      once = {};
    // Of what a server sends all is there at once.
    const bool whole = given[communication.stages.back().link].byConnection;
    communication.stages = std::move(stages);
    communication.tail = whole ? 0 : std::min(communication.tail, communication.stages.back().bytes);
  }

private:
  using Sends = Sharing::Sends;

  /// That of one connection, and of what goes there or comes back, on its own of the given link.
  unsigned linkOf(unsigned of, unsigned connection, Link link, Sends sends) {
    auto [known, isNew] = links.try_emplace({of, connection, sends}, static_cast<unsigned>(to.problem.links.size()));
    if (isNew) {
      to.sharing.parts.push_back(link.byConnection ? 0 : std::max(link.peers, link.rounds));
      link.peers = link.rounds = 1;
      link.byConnection = false;
      to.problem.links.push_back(std::move(link));
      to.sharing.media.push_back(of);
      to.sharing.sends.push_back(sends);
    }
    return known->second;
  }

  Stage onConnection(Stage stage, unsigned server, bool comesBack) {
    const Link &link = given[stage.link];
    stage.link = linkOf(stage.link, server, link.packetBytes ? link : withPackets(link),
                        comesBack ? Sends::parts : Sends::pushes);
    return stage;
  }

  void addRounds(std::vector<Stage> &stages, const Stage &stage, bool doubles) {
    const Link &link = given[stage.link];
    const bool ring = link.rounds > 1;
    const unsigned rounds = ring ? link.rounds : link.peers;
    const int64_t parts = ring ? rounds : (int64_t{1} << rounds) - 1;
    auto before = [&](unsigned round) { // bytes of the rounds before
      int64_t share = ring      ? round
                      : doubles ? (int64_t{1} << round) - 1
                                : parts + 1 - (int64_t{1} << (rounds - round));
      return static_cast<int64_t>(static_cast<__int128>(stage.bytes) * share / parts);
    };
    for (unsigned round = 0; round < rounds; ++round) {
      Stage one = stage;
      unsigned peer = ring ? 0 : doubles ? rounds - 1 - round
                                         : round;
      one.link = linkOf(stage.link, peer, rounds > 1 && !link.packetBytes ? withPackets(link) : link, hasPackets(link) ? Sends::rounds : Sends::messages);
      one.bytes = before(round + 1) - before(round);
      one.overhead = partOf(stage.overhead, round, rounds);
      one.latency = partOf(stage.latency, round, rounds);
      one.avoidableOverhead = one.avoidableLatency = 0;
      one.update = round + 1 == rounds ? stage.update : 0;
      stages.push_back(one);
    }
  }

  Connections &to;
  const std::vector<Link> &given;
  std::map<std::tuple<unsigned, unsigned, Sends>, unsigned> links; ///< by given link, connection, and what it sends
};

Connections::Connections(const Problem &problem) : problem(problem) {
  if (!hasConnections(problem))
    return;
  this->problem.links.clear();
  Splitter splitter(*this, problem.links);
  for (Communication &communication : this->problem.communications)
    splitter.split(communication);
}

Evaluation Connections::evaluate(const Schedule &schedule, unsigned maxSteps) const {
  if (!any())
    return runSteps(problem, schedule, maxSteps);
  maxSteps = std::min(maxSteps, kSteps);
  std::vector<unsigned> exchanges;
  if (std::optional<Schedule> slices = inSlices(schedule, exchanges))
    return runSteps(problem, *slices, maxSteps, sharing, exchanges);
  return runSteps(problem, schedule, maxSteps, sharing);
}

Timeline Connections::trace(const Schedule &schedule, unsigned steps, unsigned maxSteps) const {
  std::vector<unsigned> exchanges;
  std::optional<Schedule> slices = any() ? inSlices(schedule, exchanges) : std::nullopt;
  Timeline timeline = traceSteps(problem, slices ? *slices : schedule, steps, any() ? std::min(maxSteps, kSteps) : maxSteps, sharing, exchanges);
  if (!any())
    return timeline;
  // The last of all rounds and slices of a stage is the end of it.
  std::set<std::tuple<unsigned, unsigned, uint64_t>> ended;
  for (auto transfer = timeline.transfers.rbegin(); transfer != timeline.transfers.rend(); ++transfer) {
    if (!exchanges.empty())
      transfer->message = exchanges[transfer->message];
    transfer->stage = sharing.stageOf[schedule.messages[transfer->message].pieces.front().communication][transfer->stage];
    if (!ended.insert({transfer->message, transfer->stage, transfer->step}).second) {
      transfer->isLast = false;
      transfer->arrived = transfer->sent;
    }
  }
  return timeline;
}

std::optional<Schedule> Connections::inSlices(const Schedule &schedule, std::vector<unsigned> &exchanges) const {
  std::vector<unsigned> counts;
  bool any = false;
  for (const Message &message : schedule.messages) {
    const unsigned communication = message.pieces.front().communication;
    const Rounds &of = rounds[communication];
    const Sharing::Once &once = sharing.once[communication];
    int64_t bytes = 0;
    for (const Piece &piece : message.pieces)
      bytes += piece.end - piece.begin;
    if (once.begin != once.end && bytes <= once.bytes)
      counts.push_back(plan::SlicesOfPart(static_cast<uint64_t>(bytes), once.end - once.begin));
    else
      counts.push_back(of.ranks < 2 ? 1 : plan::SlicesOfPart(static_cast<uint64_t>(bytes / of.ranks), of.count));
    any |= counts.back() > 1;
  }
  if (!any)
    return std::nullopt;
  Schedule result;
  result.order = schedule.order;
  result.credit = schedule.credit;
  result.barrier = schedule.barrier;
  for (unsigned i = 0; i < counts.size(); ++i)
    for (unsigned slice = 0; slice < counts[i]; ++slice) {
      Message &own = result.messages.emplace_back();
      own.priorities = schedule.messages[i].priorities;
      own.exclusive = schedule.messages[i].exclusive;
      own.pieces = partOf(schedule.messages[i].pieces, slice, counts[i], problem.communications[schedule.messages[i].pieces.front().communication].tail > 0);
      exchanges.push_back(i);
    }
  return result;
}

bool hasConnections(const Problem &problem) {
  return std::any_of(problem.links.begin(), problem.links.end(), hasPackets);
}

Evaluation evaluate(const Problem &problem, const Schedule &schedule, unsigned maxSteps) {
  return hasConnections(problem) ? Connections(problem).evaluate(schedule, maxSteps) : runSteps(problem, schedule, maxSteps);
}

Timeline traceSchedule(const Problem &problem, const Schedule &schedule, unsigned steps, unsigned maxSteps) {
  return Connections(problem).trace(schedule, steps, maxSteps);
}

} // namespace commsched::schedule
