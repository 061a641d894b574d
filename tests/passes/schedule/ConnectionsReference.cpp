// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/passes/schedule/ConnectionsReference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace commsched::schedule {
namespace connections_reference {
namespace {

constexpr double kEndless = 1e300;
/// Of two moments that are one.
constexpr double kSame = 1e-6;

/// Where a message is sent next, and what it does there.
struct Leg {
  std::pair<unsigned, unsigned> connection; ///< link, and peer, or server and direction
  bool packets = false, urgent = false;     ///< whether more urgent ones overtake, and go first
  double bytes = 0, overhead = 0, behind = 0;
  int64_t priority = 0;
};

/// One message of one step on one leg.
struct Transfer {
  std::tuple<int64_t, unsigned, unsigned, unsigned> order; ///< priority, step, message, leg
  bool packets = false, urgent = false;
  double left = 0;              ///< ns on a link of its own
  double all = 0, overhead = 0; ///< to servers: `left` is of bytes only, and was `all`
  double bytes = 0, behind = 0;
  double sent = kEndless, complete = kEndless, credit = kEndless;
};

std::pair<int64_t, unsigned> urgencyOf(const Transfer &transfer) {
  return {std::get<0>(transfer.order), std::get<1>(transfer.order)};
}

/// Of a connection with a server, given to its socket.
struct Packet {
  double left = 0;
  std::vector<std::tuple<int64_t, unsigned, unsigned, unsigned>> ends;
};

struct Connection {
  bool ofServer = false;
  std::vector<Packet> wire;           ///< of a connection with a server: what is not sent
  std::vector<Transfer> queue, given; ///< of given ones, those whose credit is not free again, too
  std::optional<size_t> current;      ///< in `given`
  double begun = 0;                   ///< what was left of it then
  double until = -1;                  ///< with so much left it yields; negative: it does not
};

class World {
public:
  World(const Problem &problem, const Schedule &schedule, double packet, double ahead, const ConnectionFaults &faults)
      : problem(problem), schedule(schedule), packet(packet), ahead(ahead), faults(faults) {
    for (const Message &message : schedule.messages)
      legs.push_back(legsOf(message));
  }

  std::vector<double> run(unsigned steps) {
    std::vector<double> ends;
    while (ends.size() < steps) {
      settle();
      while (ends.size() < steps && opsDone(unsigned(ends.size())))
        ends.push_back(now);
      if (!goOn())
        break;
    }
    return ends;
  }

private:
  using OfStep = std::pair<unsigned, unsigned>; // step, and an op or a message

  std::vector<Leg> legsOf(const Message &message) const {
    const Communication &first = problem.communications[message.pieces.front().communication];
    std::vector<Leg> result;
    std::vector<unsigned> visits(problem.links.size());
    unsigned toServers = 0;
    for (unsigned i = 0; i < first.stages.size(); ++i) {
      const Stage &stage = first.stages[i];
      const Link &link = problem.links[stage.link];
      const unsigned rounds = link.peers;
      const bool second = visits[stage.link]++ != 0;
      const bool back = link.byConnection && toServers++ != 0;
      double bytes = 0, update = 0;
      for (const Piece &piece : message.pieces) {
        const Communication &own = problem.communications[piece.communication];
        const double part = double(piece.end - piece.begin) / double(own.bytes);
        bytes += double(own.stages[i].bytes) * part;
        update += std::ceil(double(own.stages[i].update) * part);
      }
      for (unsigned round = 0; round < rounds; ++round) {
        // Half of all, a quarter, ...; behind the middle the reverse.
        const unsigned distance = second ? rounds - 1 - round : round;
        double share = std::exp2(double(rounds - 1 - distance)) / (std::exp2(double(rounds)) - 1);
        if (faults.equalRounds)
          share = 1.0 / rounds;
        Leg leg;
        leg.connection = {stage.link, faults.peersInOrder ? round : distance};
        leg.packets = rounds > 1 || (link.byConnection && (back || faults.pushesOvertaken));
        leg.urgent = rounds > 1;
        if (link.byConnection && !faults.oneConnection)
          leg.connection.second = 2 * first.connection + unsigned(back);
        leg.bytes = bytes * share;
        leg.overhead = double(stage.overhead) / rounds;
        leg.behind = double(stage.latency) / (faults.latencyOfEachRound ? 1 : rounds);
        if (round + 1 == rounds)
          leg.behind += update;
        leg.priority = message.priorities[i];
        result.push_back(leg);
      }
    }
    return result;
  }

  // ---- what is done ----

  bool opDone(unsigned step, unsigned op) const {
    auto at = opEnds.find({step, op});
    return at != opEnds.end() && at->second <= now + kSame;
  }
  bool opsDone(unsigned step) const {
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      if (!opDone(step, op))
        return false;
    return true;
  }
  bool arrived(unsigned step, unsigned communication) const {
    for (unsigned m = 0; m < schedule.messages.size(); ++m)
      for (const Piece &piece : schedule.messages[m].pieces)
        if (piece.communication == communication && !passed.contains({step, m, unsigned(legs[m].size())}))
          return false;
    return true;
  }
  bool complete(unsigned step) const {
    for (unsigned c = 0; c < problem.communications.size(); ++c)
      if (!arrived(step, c))
        return false;
    return opsDone(step);
  }

  // ---- what begins at this moment ----

  void settle() {
    for (bool any = true; any;) {
      any = countEnds();
      any |= startOps();
      any |= releaseMessages();
      if (any)
        continue; // all that ends now is counted before links choose
      for (auto &[name, connection] : connections)
        any |= connection.ofServer ? takePacket(name.first, connection) : give(name.first, connection) | choose(connection);
    }
  }

  bool countEnds() {
    bool any = false;
    for (auto &[name, connection] : connections)
      for (Transfer &transfer : connection.given) {
        auto [priority, step, message, leg] = transfer.order;
        if (transfer.complete > now + kSame || passed.contains({step, message, leg + 1}))
          continue;
        passed[{step, message, leg + 1}] = now;
        any = true;
        if (leg + 1 < legs[message].size())
          enqueue(step, message, leg + 1);
      }
    return any;
  }

  bool startOps() {
    bool any = false;
    for (unsigned stream = 0; stream < schedule.order.size(); ++stream) {
      const std::vector<unsigned> &order = schedule.order[stream];
      unsigned &next = started[stream];
      if (order.empty())
        continue;
      const auto count = unsigned(order.size());
      const unsigned step = next / count, op = order[next % count];
      if (next > 0 && !opDone((next - 1) / count, order[(next - 1) % count]))
        continue;
      if (next % count == 0 && step >= 2 && !complete(step - 2))
        continue;
      bool ready = true;
      for (unsigned before : problem.ops[op].after)
        ready &= opDone(step, before);
      for (unsigned c = 0; c < problem.communications.size(); ++c)
        for (const Consumer &consumer : problem.communications[c].consumers)
          if (consumer.op == op && consumer.distance <= step)
            ready &= arrived(step - consumer.distance, c);
      if (!ready)
        continue;
      opEnds[{step, op}] = now + double(problem.ops[op].duration);
      ++next;
      any = true;
    }
    return any;
  }

  bool releaseMessages() {
    bool any = false;
    unsigned last = 0;
    for (const auto &[stream, next] : started)
      if (!schedule.order[stream].empty())
        last = std::max<unsigned>(last, next / unsigned(schedule.order[stream].size()));
    for (unsigned step = last > 3 ? last - 3 : 0; step <= last; ++step)
      for (unsigned m = 0; m < schedule.messages.size(); ++m) {
        if (passed.contains({step, m, 0}))
          continue;
        bool ready = true;
        for (const Piece &piece : schedule.messages[m].pieces)
          for (unsigned producer : problem.communications[piece.communication].producers)
            ready &= opDone(step, producer);
        if (!ready)
          continue;
        passed[{step, m, 0}] = now;
        enqueue(step, m, 0);
        any = true;
      }
    return any;
  }

  void enqueue(unsigned step, unsigned message, unsigned index) {
    const Leg &leg = legs[message][index];
    Transfer transfer;
    transfer.order = {leg.priority, step, message, index};
    transfer.packets = leg.packets;
    transfer.urgent = leg.urgent;
    transfer.bytes = leg.bytes;
    transfer.left = leg.bytes * 1e9 / double(problem.links[leg.connection.first].bytesPerSecond);
    transfer.behind = leg.behind;
    Connection &connection = connections[leg.connection];
    connection.ofServer = problem.links[leg.connection.first].byConnection;
    if (connection.ofServer) {
      transfer.all = transfer.left;
      transfer.overhead = leg.overhead;
    } else {
      transfer.left += leg.overhead;
    }
    connection.queue.push_back(transfer);
  }

  static double leftOn(const Connection &connection) {
    double left = 0;
    for (const Packet &packet : connection.wire)
      left += packet.left;
    return left;
  }
  double packetOf(unsigned link) const {
    const Link &own = problem.links[link];
    double ns = own.packetBytes ? std::ceil(double(own.packetBytes) * 1e9 / double(own.bytesPerSecond)) : packet;
    return faults.overtakesAtOnce ? ns / 16 : ns;
  }
  double aheadOf(unsigned link) const {
    const Link &own = problem.links[link];
    return own.packetBytes ? std::ceil(double(own.aheadBytes) * 1e9 / double(own.bytesPerSecond)) : ahead;
  }

  /// What goes into a packet next: the most urgent; but what is of no use before all of it is there and has been begun
  /// goes on, unless what is more urgent is shorter than its rest.
  static std::vector<Transfer>::iterator nextPiece(std::vector<Transfer> &queue) {
    auto most = [&](auto counts) {
      auto best = queue.end();
      for (auto it = queue.begin(); it != queue.end(); ++it)
        if (counts(*it) && (best == queue.end() || it->order < best->order))
          best = it;
      return best;
    };
    auto best = most([](const Transfer &) { return true; });
    auto begun = most([](const Transfer &t) { return !t.packets && t.left < t.all; });
    return begun == queue.end() || best->all < begun->left ? best : begun;
  }

  /// The socket has no more than `ahead` to send, and takes the next packet.
  bool takePacket(unsigned link, Connection &connection) {
    std::vector<Transfer> &queue = connection.queue;
    if (queue.empty() || (!connection.wire.empty() && leftOn(connection) > aheadOf(link) + kSame))
      return false;
    const double full = packetOf(link);
    Packet next;
    double taken = 0;
    std::pair<int64_t, unsigned> urgency{};
    for (bool first = true; !queue.empty() && taken < full - kSame; first = false) {
      auto own = nextPiece(queue);
      const std::pair<int64_t, unsigned> of{std::get<0>(own->order), std::get<1>(own->order)};
      if (first)
        urgency = of;
      // A quarter of it, or twice what a socket has, is enough where what follows is less urgent; of what a socket has at once, five eighths.
      const double enough =
          full <= aheadOf(link) + kSame ? 5 * std::floor(full / 8) : std::max(std::floor(full / 4), 2 * aheadOf(link));
      const double room = of == urgency || faults.fullPackets || enough >= full ? full : std::max(0.0, enough - taken);
      if (room <= kSame)
        break;
      if (own->left >= own->all - kSame)
        next.left += std::exchange(own->overhead, 0);
      const double size = std::min(own->left, room);
      own->left -= size;
      taken += size;
      if (own->left > kSame)
        continue;
      if (faults.messagesAlone) {
        next.left += taken;
        taken = 0;
        next.ends.push_back(own->order);
        own->sent = now + leftOn(connection) + next.left;
        own->complete = own->credit = own->sent + own->behind;
      }
      next.ends.push_back(own->order);
      connection.given.push_back(*own);
      queue.erase(own);
    }
    next.left += taken;
    connection.wire.push_back(next);
    return true;
  }

  void endPackets(Connection &connection, double at) {
    while (!connection.wire.empty() && connection.wire.front().left <= kSame) {
      for (const auto &order : connection.wire.front().ends)
        for (Transfer &transfer : connection.given)
          if (transfer.order == order && transfer.sent == kEndless) {
            transfer.sent = at;
            transfer.complete = transfer.credit = at + transfer.behind;
          }
      connection.wire.erase(connection.wire.begin());
    }
  }

  double creditOf(unsigned link) const {
    const int64_t credit = schedule.credit[link];
    if (credit == kNoLimit)
      return kEndless;
    const unsigned peers = faults.wholeCredit ? 1 : problem.links[link].peers;
    return std::ceil(double(credit) / peers);
  }

  /// The first of the queue, while there is room for it.
  bool give(unsigned link, Connection &connection) {
    bool any = false;
    while (!connection.queue.empty()) {
      auto next = std::min_element(connection.queue.begin(), connection.queue.end(),
                                   [](const Transfer &a, const Transfer &b) { return a.order < b.order; });
      double bytes = 0;
      bool counts = false;
      for (const Transfer &other : connection.given)
        if (other.credit > now + kSame && (!next->packets || urgencyOf(other) <= urgencyOf(*next))) {
          bytes += other.bytes;
          counts = true;
        }
      if (counts && bytes + next->bytes > creditOf(link) + kSame)
        break;
      connection.given.push_back(*next);
      connection.queue.erase(next);
      any = true;
    }
    return any;
  }

  /// What it sends: of several connections' the most urgent, else in the order of coming.
  bool choose(Connection &connection) {
    std::optional<size_t> first;
    for (size_t i = 0; i < connection.given.size(); ++i)
      if (connection.given[i].sent == kEndless && i != connection.current &&
          (!first || (connection.given[i].urgent && connection.given[i].order < connection.given[*first].order)))
        first = i;
    if (!first)
      return false;
    if (!connection.current) {
      connection.current = first;
      connection.begun = connection.given[*first].left;
      connection.until = -1;
      return true;
    }
    const Transfer &own = connection.given[*connection.current];
    if (!own.packets || connection.until >= 0 || own.order < connection.given[*first].order)
      return false;
    // Behind the packets of it that have been taken.
    const double taken = connection.begun - own.left + ahead;
    const double most = faults.overtakesAtOnce ? connection.begun - own.left : (std::floor((taken + kSame) / packet) + 1) * packet;
    connection.until = std::max(0.0, connection.begun - most);
    return true;
  }

  // ---- time ----

  double rateOf(unsigned link) const {
    if (faults.wholeRate)
      return 1;
    double busy = 0;
    for (const auto &[name, connection] : connections)
      busy += name.first == link && (connection.current.has_value() || !connection.wire.empty());
    return 1 / busy;
  }

  /// On to the next moment at which something ends; false if nothing does.
  bool goOn() {
    double next = kEndless;
    const auto at = [&](double time) {
      if (time > now + kSame)
        next = std::min(next, time);
    };
    for (const auto &[op, end] : opEnds)
      at(end);
    std::map<unsigned, double> rates;
    for (auto &[name, connection] : connections) {
      for (const Transfer &transfer : connection.given) {
        if (transfer.sent == kEndless)
          continue;
        at(transfer.complete);
        at(transfer.credit);
      }
      if (!connection.current && connection.wire.empty())
        continue;
      const double rate = rates.try_emplace(name.first, rateOf(name.first)).first->second;
      if (connection.ofServer) {
        next = std::min(next, now + connection.wire.front().left / rate);
        if (double left = leftOn(connection) - aheadOf(name.first); !connection.queue.empty() && left > 0)
          next = std::min(next, now + left / rate);
        continue;
      }
      const double left = connection.given[*connection.current].left - std::max(0.0, connection.until);
      next = std::min(next, now + std::max(0.0, left) / rate);
    }
    if (next == kEndless)
      return false;
    for (auto &[name, connection] : connections) {
      if (!connection.wire.empty()) {
        connection.wire.front().left -= (next - now) * rates.at(name.first);
        endPackets(connection, next);
      }
      if (!connection.current)
        continue;
      Transfer &own = connection.given[*connection.current];
      own.left -= (next - now) * rates.at(name.first);
      if (own.left > std::max(0.0, connection.until) + kSame)
        continue;
      if (own.left <= kSame) {
        own.left = 0;
        own.sent = next;
        own.complete = next + own.behind;
        const Link &link = problem.links[name.first];
        own.credit = link.creditUntilSent && creditOf(name.first) < kEndless ? next : own.complete;
      }
      connection.current.reset();
    }
    now = next;
    // Nobody asks for what is over any more.
    for (auto &[name, connection] : connections)
      if (!connection.current)
        std::erase_if(connection.given, [&](const Transfer &t) {
          auto [priority, step, message, leg] = t.order;
          return t.complete <= now && t.credit <= now && passed.contains({step, message, leg + 1});
        });
    std::erase_if(opEnds, [&](const auto &entry) { return entry.first.first + 6 < oldest(); });
    std::erase_if(passed, [&](const auto &entry) { return std::get<0>(entry.first) + 6 < oldest(); });
    return true;
  }
  unsigned oldest() const {
    unsigned step = ~0u;
    for (const auto &[stream, next] : started)
      if (!schedule.order[stream].empty())
        step = std::min<unsigned>(step, next / unsigned(schedule.order[stream].size()));
    return step == ~0u ? 0 : step;
  }

  const Problem &problem;
  const Schedule &schedule;
  const double packet, ahead; ///< ns, of a link of its own: bytes, at a byte in a nanosecond
  const ConnectionFaults faults;
  double now = 0;
  std::vector<std::vector<Leg>> legs; ///< by message
  std::map<unsigned, unsigned> started;
  std::map<OfStep, double> opEnds;
  /// By step, message and leg: when all before this leg was done; behind the last leg, all of it.
  std::map<std::tuple<unsigned, unsigned, unsigned>, double> passed;
  std::map<std::pair<unsigned, unsigned>, Connection> connections;
};

} // namespace
} // namespace connections_reference

std::vector<double> endsByConnections(const Problem &problem, const Schedule &schedule, unsigned steps, double packet,
                                      double ahead, const ConnectionFaults &faults) {
  return connections_reference::World(problem, schedule, packet, ahead, faults).run(steps);
}

} // namespace commsched::schedule
