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
  bool round = false;
  std::pair<unsigned, unsigned> connection; ///< link, and peer, or server and direction
  bool packets = false;                     ///< whether more urgent ones overtake, whatever is left
  double share = 0;                         ///< of the bytes of its stage
  double bytes = 0, overhead = 0, latency = 0, behind = 0;
  int64_t priority = 0;
};

/// A message as it is sent: one of its slices, which have parts of all its pieces.
struct Slice {
  unsigned message = 0;
  std::vector<Piece> pieces;
  unsigned first = 0, count = 1; ///< slices of its message
  std::vector<Leg> legs;         ///< of the first slice, those that are no rounds are of the whole message
  std::vector<Piece> arrives;    ///< with its last leg: of all slices, if that is one of the whole message
  std::vector<double> behind;    ///< by piece of these: ns of the last leg behind its end; 0: it comes with the slice
};

using Order = std::tuple<int64_t, unsigned, unsigned, unsigned, unsigned>; ///< priority, step, message, leg, slice

/// One slice of one step on one leg.
struct Transfer {
  Order order;
  bool packets = false;
  bool isAskedFor = false;      ///< by its receiver, before which it is in no packet
  double left = 0;              ///< ns on a link of its own
  double all = 0, overhead = 0; ///< in packets: `left` is of bytes only, and was `all`
  double bytes = 0, behind = 0;
  double sent = kEndless, complete = kEndless, credit = kEndless;
};

std::pair<int64_t, unsigned> urgencyOf(const Transfer &transfer) {
  return {std::get<0>(transfer.order), std::get<1>(transfer.order)};
}

/// Given to the socket of a connection.
struct Packet {
  double left = 0;
  std::vector<Order> ends, asked;
  std::vector<std::pair<Order, unsigned>> pieces; ///< that end in it, before their slices
};

struct Connection {
  bool ofServer = false, ofRank = false; ///< both send packets, the former whatever the credit
  std::vector<Packet> wire;              ///< what is not sent
  std::vector<Transfer> queue;           ///< waits for credit
  std::vector<Transfer> pending;         ///< may go into packets
  std::vector<Transfer> held;            ///< may, when they are asked for
  std::vector<Order> asked;              ///< to be asked for with the next packet
  std::map<Order, double> answers;       ///< when what is asked for is
  std::vector<Transfer> given;           ///< what is in packets, or sent in order, and those whose credit is not free again
  std::optional<size_t> current;         ///< in `given`: what is sent in order
  bool packs() const { return ofServer || ofRank; }
};

class World {
public:
  World(const Problem &problem, const Schedule &schedule, double packet, double ahead, const ConnectionFaults &faults)
      : problem(problem), schedule(schedule), packet(packet), ahead(ahead), faults(faults) {
    for (unsigned m = 0; m < schedule.messages.size(); ++m) {
      const unsigned count = faults.oneSlice ? 1 : slicesOf(schedule.messages[m]);
      const std::vector<Piece> &all = schedule.messages[m].pieces;
      const bool tail = problem.communications[all.front().communication].tail > 0;
      const auto whole = int64_t(sizeOf(all));
      for (unsigned i = 0; i < count; ++i) {
        Slice slice;
        slice.message = m;
        slice.first = unsigned(slices.size()) - (faults.slicesAlone ? 0 : i);
        slice.count = faults.slicesAlone ? 1 : count;
        int64_t at = 0;
        for (const Piece &piece : all) {
          const int64_t size = piece.end - piece.begin;
          Piece part{piece.communication, piece.begin + size * i / count, piece.begin + size * (i + 1) / count};
          if (tail) { // one piece behind the other
            part.begin = std::max(piece.begin, piece.begin + whole * i / count - at);
            part.end = std::min(piece.end, piece.begin + whole * (i + 1) / count - at);
          }
          at += size;
          if (part.begin < part.end)
            slice.pieces.push_back(part);
        }
        slice.legs = legsOf(m, slice.pieces);
        if (i == 0 && slice.count > 1) {
          const std::vector<Leg> ofWhole = legsOf(m, all);
          for (size_t leg = 0; leg < ofWhole.size(); ++leg)
            if (!slice.legs[leg].round)
              slice.legs[leg] = ofWhole[leg];
        }
        if (slice.legs.back().round || slice.count == 1)
          slice.arrives = slice.pieces;
        else if (i == 0)
          slice.arrives = all;
        slice.behind = behindPieces(slice);
        slices.push_back(std::move(slice));
      }
    }
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
  using OfStep = std::pair<unsigned, unsigned>; // step, and an op

  /// Between ranks, in packets.
  static bool sendsRounds(const Link &link) {
    return !link.byConnection && (link.peers > 1 || link.rounds > 1 || link.packetBytes > 0);
  }

  static double sizeOf(const std::vector<Piece> &pieces) {
    double size = 0;
    for (const Piece &piece : pieces)
      size += double(piece.end - piece.begin);
    return size;
  }

  /// The first half of an all-reduce of few bytes, which has all of them in each round, as many as recursive doubling has: of so many ranks the
  /// logarithm, and if they are no power of two one before and one behind.
  struct Few {
    unsigned stage = 0, rounds = 0; ///< 0 rounds: it is none
  };
  Few fewOf(const Message &message) const {
    const Communication &first = problem.communications[message.pieces.front().communication];
    for (unsigned i = 0; i < first.stages.size(); ++i) {
      const Link &link = problem.links[first.stages[i].link];
      if (!sendsRounds(link))
        continue;
      if (i + 1 == first.stages.size() || first.stages[i + 1].link != first.stages[i].link || sizeOf(message.pieces) > double(link.onceBytes) || faults.neverOnce)
        return {};
      if (link.peers > 1)
        return {i, link.peers};
      unsigned log = 0;
      while ((2u << log) <= link.rounds + 1)
        ++log;
      return {i, (1u << log) == link.rounds + 1 ? log : log + 2};
    }
    return {};
  }

  /// Around a ring a rank's part is sent in slices of half a MiB, four at most, and of 4 MiB at most; so is all of what is sent in each round.
  unsigned slicesOf(const Message &message) const {
    const Communication &first = problem.communications[message.pieces.front().communication];
    double ranks = 0;
    unsigned rounds = 0;
    for (const Stage &stage : first.stages)
      if (const Link &link = problem.links[stage.link]; sendsRounds(link) && link.peers == 1) {
        ranks = link.rounds + 1;
        rounds += link.rounds;
      }
    if (const Few few = fewOf(message); few.rounds > 0) {
      ranks = 1;
      rounds = few.rounds;
    }
    if (rounds < 2)
      return 1;
    const double part = std::floor(sizeOf(message.pieces) / ranks);
    const double least = std::min(4.0, std::floor(part / (512 << 10)));
    return unsigned(std::max({1.0, least, std::ceil(part / (4 << 20))}));
  }

  std::vector<Leg> legsOf(unsigned message, const std::vector<Piece> &pieces) const {
    const Communication &first = problem.communications[pieces.front().communication];
    std::vector<Leg> result;
    std::vector<unsigned> visits(problem.links.size());
    unsigned toServers = 0;
    const Few few = fewOf(schedule.messages[message]);
    for (unsigned i = 0; i < first.stages.size(); ++i) {
      const Stage &stage = first.stages[i];
      const Link &link = problem.links[stage.link];
      const bool ring = link.rounds > 1;
      const unsigned rounds = ring && !faults.roundsInOne ? link.rounds : link.peers;
      const bool second = visits[stage.link]++ != 0;
      const bool back = link.byConnection && toServers++ != 0;
      double bytes = 0, update = 0;
      for (const Piece &piece : pieces) {
        const Communication &own = problem.communications[piece.communication];
        const double part = double(piece.end - piece.begin) / double(own.bytes);
        bytes += double(own.stages[i].bytes) * part;
        update += std::ceil(double(own.stages[i].update) * part);
      }
      const bool once = few.rounds > 0 && (i == few.stage || i == few.stage + 1);
      for (unsigned round = 0; round < rounds; ++round) {
        // Of 3 ranks these are more than a half has.
        if (once && round + (i == few.stage ? 0 : rounds) >= few.rounds)
          break;
        // Half of all, a quarter, ...; behind the middle the reverse.
        const unsigned distance = second ? rounds - 1 - round : round;
        double share = std::exp2(double(rounds - 1 - distance)) / (std::exp2(double(rounds)) - 1);
        if (faults.equalRounds || ring)
          share = 1.0 / rounds;
        Leg leg;
        leg.connection = {stage.link, ring ? 0 : faults.peersInOrder ? round
                                                                     : distance};
        leg.packets = link.byConnection ? back || faults.pushesOvertaken : sendsRounds(link);
        if (link.byConnection && !faults.oneConnection)
          leg.connection.second = 2 * first.connection + unsigned(back);
        leg.round = sendsRounds(link);
        leg.share = share;
        leg.bytes = once ? sizeOf(pieces) : bytes * share;
        leg.overhead = double(stage.overhead) / rounds;
        leg.latency = double(stage.latency) / rounds;
        leg.behind = double(stage.latency) / (faults.latencyOfEachRound ? 1 : rounds);
        if (round + 1 == rounds)
          leg.behind += update;
        leg.priority = schedule.messages[message].priorities[i];
        result.push_back(leg);
      }
    }
    return result;
  }

  /// What follows the bytes of a piece: of its message's tail as much as of its bytes; none of what a server sends, or of what is sent once.
  std::vector<double> behindPieces(const Slice &slice) const {
    std::vector<double> result(slice.arrives.size());
    if (result.empty())
      return result;
    const Communication &first = problem.communications[slice.pieces.front().communication];
    const Link &link = problem.links[first.stages.back().link];
    size_t legs = 0;
    for (const Stage &stage : first.stages)
      legs += problem.links[stage.link].rounds > 1 && !faults.roundsInOne ? problem.links[stage.link].rounds : problem.links[stage.link].peers;
    if (link.byConnection || slice.legs.size() < legs || first.tail == 0 || faults.piecesWithMessage)
      return result;
    double tail = 0, bytes = 0;
    for (const Piece &piece : slice.arrives) {
      const Communication &own = problem.communications[piece.communication];
      const double part = double(piece.end - piece.begin) / double(own.bytes);
      // No more than there is of the last round.
      tail += part * std::min(double(own.tail), double(own.stages.back().bytes) * slice.legs.back().share);
      bytes += double(piece.end - piece.begin);
    }
    double left = bytes;
    for (size_t i = 0; i < result.size(); ++i) {
      left -= double(slice.arrives[i].end - slice.arrives[i].begin);
      result[i] = tail * left / bytes * 1e9 / double(link.bytesPerSecond);
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
    for (unsigned m = 0; m < slices.size(); ++m)
      for (unsigned i = 0; i < slices[m].arrives.size(); ++i) {
        if (slices[m].arrives[i].communication != communication || passed.contains({step, m, unsigned(slices[m].legs.size())}))
          continue;
        auto at = pieces.find({step, m, i});
        if (at == pieces.end() || at->second > now + kSame)
          return false;
      }
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
        any |= connection.packs() ? accept(name.first, connection) | give(name.first, connection) | hear(connection) | takePacket(name.first, connection)
                                  : give(name.first, connection) | choose(connection);
    }
  }

  bool countEnds() {
    bool any = false;
    for (auto &[name, connection] : connections)
      for (Transfer &transfer : connection.given) {
        auto [priority, step, message, leg, slice] = transfer.order;
        if (transfer.complete > now + kSame || passed.contains({step, slice, leg + 1}))
          continue;
        passed[{step, slice, leg + 1}] = now;
        any = true;
        if (leg + 1 < slices[slice].legs.size())
          goOnWith(step, slice, leg + 1);
      }
    return any;
  }

  /// Rounds follow each other slice by slice; what is no round is done with the whole message, when all slices are there.
  void goOnWith(unsigned step, unsigned slice, unsigned leg) {
    const Slice &own = slices[slice];
    if (own.legs[leg].round && leg > 0 && own.legs[leg - 1].round)
      return enqueue(step, slice, leg);
    for (unsigned i = own.first; i < own.first + own.count && leg > 0; ++i)
      if (own.legs[leg - 1].round && !passed.contains({step, i, leg}))
        return;
    for (unsigned i = own.first; i < own.first + (own.legs[leg].round ? own.count : 1); ++i)
      enqueue(step, i, leg);
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
      for (unsigned m = 0; m < slices.size(); ++m) {
        if (slices[m].first != m || passed.contains({step, m, 0}))
          continue;
        bool ready = true;
        for (const Piece &piece : schedule.messages[slices[m].message].pieces)
          for (unsigned producer : problem.communications[piece.communication].producers)
            ready &= opDone(step, producer);
        if (!ready)
          continue;
        passed[{step, m, 0}] = now;
        goOnWith(step, m, 0);
        any = true;
      }
    return any;
  }

  void enqueue(unsigned step, unsigned slice, unsigned index) {
    const Leg &leg = slices[slice].legs[index];
    Transfer transfer;
    transfer.order = {leg.priority, step, slices[slice].message, index, slice};
    transfer.packets = leg.packets;
    transfer.bytes = leg.bytes;
    transfer.left = leg.bytes * 1e9 / double(problem.links[leg.connection.first].bytesPerSecond);
    transfer.behind = leg.behind;
    Connection &connection = connections[leg.connection];
    const Link &link = problem.links[leg.connection.first];
    connection.ofServer = link.byConnection;
    connection.ofRank = sendsRounds(link);
    if (connection.packs()) {
      transfer.all = transfer.left;
      transfer.overhead = leg.overhead;
    } else {
      transfer.left += leg.overhead;
    }
    // What has more than 4 MiB is asked for by its receiver, which is as far as its sender.
    transfer.isAskedFor = connection.ofRank && !faults.neverAsked && leg.bytes > (4 << 20);
    if (transfer.isAskedFor)
      connection.asked.push_back(transfer.order);
    (connection.ofServer ? connection.pending : connection.queue).push_back(transfer);
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

  /// An exclusive message in its rounds; what is less urgent waits until then.
  struct Exclusive {
    std::pair<int64_t, unsigned> urgency;
    double until = 0;
  };
  std::vector<Exclusive> exclusives() const {
    std::vector<Exclusive> result;
    for (const auto &[name, begun] : passed) {
      auto [step, first, begin] = name;
      const Slice &slice = slices[first];
      const Time patience = schedule.messages[slice.message].exclusive;
      // Where the first slice stands for all at the beginning of what is rounds.
      if (patience == 0 || faults.neverExclusive || slice.first != first || begin == slice.legs.size() || !slice.legs[begin].round || (begin > 0 && slice.legs[begin - 1].round))
        continue;
      Exclusive own{{slice.legs[begin].priority, step}, begun};
      unsigned end = begin;
      for (; end < slice.legs.size() && slice.legs[end].round; ++end)
        own.urgency.first = std::max(own.urgency.first, slice.legs[end].priority);
      bool entered = true, over = true;
      for (unsigned i = first; i < first + slice.count; ++i) {
        // What is done with the whole message before has been done for the first slice only.
        entered &= begin == 0 || !slices[i].legs[begin - 1].round || passed.contains({step, i, begin});
        over &= passed.contains({step, i, end});
        for (unsigned leg = begin + 1; leg <= end; ++leg)
          if (auto at = passed.find({step, i, leg}); at != passed.end() && !faults.oncePatient)
            own.until = std::max(own.until, at->second);
      }
      own.until = faults.endlessPatience ? kEndless : own.until + double(patience);
      if (entered && !over && own.until > now + kSame)
        result.push_back(own);
    }
    return result;
  }
  /// Nothing less urgent goes into the packets of a rank; none: all may.
  std::optional<std::pair<int64_t, unsigned>> least() const {
    std::optional<std::pair<int64_t, unsigned>> result;
    for (const Exclusive &own : exclusives())
      result = std::max(result.value_or(own.urgency), own.urgency);
    return result;
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
    std::vector<Transfer> &queue = connection.pending;
    if ((queue.empty() && connection.asked.empty()) || (!connection.wire.empty() && leftOn(connection) > aheadOf(link) + kSame))
      return false;
    const double full = packetOf(link);
    const auto lowest = connection.ofRank ? least() : std::nullopt;
    const auto waits = [&] { return lowest && !queue.empty() && *lowest < urgencyOf(*nextPiece(queue)); };
    if (connection.asked.empty() && waits())
      return false;
    Packet next;
    next.asked = std::exchange(connection.asked, {});
    double taken = 0;
    std::pair<int64_t, unsigned> urgency{};
    for (bool first = true; !queue.empty() && !waits() && taken < full - kSame; first = false) {
      auto own = nextPiece(queue);
      const std::pair<int64_t, unsigned> of{std::get<0>(own->order), std::get<1>(own->order)};
      if (first)
        urgency = of;
      // A quarter of it, or twice what a socket has, is enough where what follows is less urgent; of what a socket has at once, five eighths.
      // Between ranks 64 KiB.
      const double enough = connection.ofRank               ? std::min(full, 65536 * 1e9 / double(problem.links[link].bytesPerSecond))
                            : full <= aheadOf(link) + kSame ? 5 * std::floor(full / 8)
                                                            : std::max(std::floor(full / 4), 2 * aheadOf(link));
      const double room = of == urgency || faults.fullPackets || enough >= full ? full : std::max(0.0, enough - taken);
      if (room <= kSame)
        break;
      if (own->left >= own->all - kSame)
        next.left += std::exchange(own->overhead, 0);
      const double size = std::min(own->left, room);
      const Slice &slice = slices[std::get<4>(own->order)];
      if (std::get<3>(own->order) + 1 == slice.legs.size())
        for (unsigned i = 0; i < slice.behind.size(); ++i)
          if (const double behind = slice.behind[i]; behind > 0 && behind < own->left - kSame && behind >= own->left - size - kSame)
            next.pieces.push_back({own->order, i});
      own->left -= size;
      taken += size;
      if (own->left > kSame)
        continue;
      if (faults.messagesAlone) {
        next.left += taken;
        taken = 0;
        next.ends.push_back(own->order);
        own->sent = now + leftOn(connection) + next.left;
        own->complete = own->sent + own->behind;
        if (!connection.ofRank)
          own->credit = own->complete;
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
            transfer.complete = at + transfer.behind;
            if (!connection.ofRank || faults.creditUntilThere)
              transfer.credit = transfer.complete;
          }
      for (const auto &[order, piece] : connection.wire.front().pieces)
        endPiece(order, piece, at);
      for (const Order &order : connection.wire.front().asked)
        connection.answers[order] = at + slices[std::get<4>(order)].legs[std::get<3>(order)].latency;
      connection.wire.erase(connection.wire.begin());
    }
  }
  void endPiece(const Order &order, unsigned piece, double sent) {
    auto [priority, step, message, leg, slice] = order;
    pieces[{step, slice, piece}] = sent + slices[slice].legs[leg].behind;
  }
  /// What has been asked for may go.
  bool hear(Connection &connection) const {
    bool any = false;
    for (size_t i = 0; i < connection.held.size();) {
      auto answer = connection.answers.find(connection.held[i].order);
      if (answer == connection.answers.end() || answer->second > now + kSame) {
        ++i;
        continue;
      }
      connection.answers.erase(answer);
      connection.pending.push_back(connection.held[i]);
      connection.held.erase(connection.held.begin() + std::ptrdiff_t(i));
      any = true;
    }
    return any;
  }

  bool freesEarly(unsigned link) const { return problem.links[link].creditUntilSent && creditOf(link) < kEndless; }

  /// What is wholly in packets that the socket has taken has its credit back; or what is there, without that.
  bool accept(unsigned link, Connection &connection) {
    if (!connection.ofRank || faults.creditUntilThere)
      return false;
    bool any = false;
    for (Transfer &transfer : connection.given) {
      if (transfer.credit < kEndless)
        continue;
      const bool taken = transfer.sent < kEndless || connection.wire.empty() || leftOn(connection) <= aheadOf(link) + kSame ||
                         !std::any_of(connection.wire.back().ends.begin(), connection.wire.back().ends.end(), [&](const Order &order) { return order == transfer.order; });
      if (freesEarly(link) ? !taken : transfer.complete > now + kSame)
        continue;
      transfer.credit = now;
      any = true;
    }
    return any;
  }

  double creditOf(unsigned link) const {
    const int64_t credit = schedule.credit[link];
    if (credit == kNoLimit)
      return kEndless;
    const unsigned rounds = faults.wholeCredit ? 1 : std::max(problem.links[link].peers, problem.links[link].rounds);
    return std::ceil(double(credit) / rounds);
  }

  /// The first of the queue, while there is room for it.
  bool give(unsigned link, Connection &connection) {
    bool any = false;
    while (!connection.queue.empty()) {
      auto next = std::min_element(connection.queue.begin(), connection.queue.end(),
                                   [](const Transfer &a, const Transfer &b) { return a.order < b.order; });
      double bytes = 0;
      bool counts = false;
      for (const std::vector<Transfer> *others : {&connection.held, &connection.pending, &connection.given})
        for (const Transfer &other : *others)
          if (other.credit > now + kSame && (!next->packets || urgencyOf(other) <= urgencyOf(*next))) {
            bytes += other.bytes;
            counts = true;
          }
      if (counts && bytes + next->bytes > creditOf(link) + kSame)
        break;
      (next->isAskedFor ? connection.held : connection.packs() ? connection.pending
                                                               : connection.given)
          .push_back(*next);
      connection.queue.erase(next);
      any = true;
    }
    return any;
  }

  /// What it sends, in the order of coming.
  bool choose(Connection &connection) {
    for (size_t i = 0; i < connection.given.size() && !connection.current; ++i)
      if (const Transfer &next = connection.given[i]; next.sent == kEndless) {
        connection.current = i;
        const Slice &slice = slices[std::get<4>(next.order)];
        // Nothing shares its link.
        if (std::get<3>(next.order) + 1 == slice.legs.size())
          for (unsigned j = 0; j < slice.behind.size(); ++j)
            if (slice.behind[j] > 0)
              endPiece(next.order, j, now + next.left - slice.behind[j]);
        return true;
      }
    return false;
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
    for (const auto &[piece, time] : pieces)
      at(time);
    for (const Exclusive &own : exclusives())
      at(own.until);
    std::map<unsigned, double> rates;
    for (auto &[name, connection] : connections) {
      for (const Transfer &transfer : connection.given) {
        if (transfer.sent == kEndless)
          continue;
        at(transfer.complete);
        at(transfer.credit);
      }
      for (const auto &[order, time] : connection.answers)
        at(time);
      if (!connection.current && connection.wire.empty())
        continue;
      const double rate = rates.try_emplace(name.first, rateOf(name.first)).first->second;
      if (connection.packs()) {
        next = std::min(next, now + connection.wire.front().left / rate);
        // The socket takes the last packet whole, and then another one.
        if (double left = leftOn(connection) - aheadOf(name.first); left > kSame)
          next = std::min(next, now + left / rate);
        continue;
      }
      next = std::min(next, now + connection.given[*connection.current].left / rate);
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
      if (own.left > kSame)
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
          auto [priority, step, message, leg, slice] = t.order;
          return t.complete <= now && t.credit <= now && passed.contains({step, slice, leg + 1});
        });
    std::erase_if(opEnds, [&](const auto &entry) { return entry.first.first + 6 < oldest(); });
    std::erase_if(pieces, [&](const auto &entry) { return std::get<0>(entry.first) + 6 < oldest(); });
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
  std::vector<Slice> slices; ///< in the order of messages
  std::map<unsigned, unsigned> started;
  std::map<OfStep, double> opEnds;
  /// By step, slice and leg: when all before this leg was done; behind the last leg, all of it.
  std::map<std::tuple<unsigned, unsigned, unsigned>, double> passed;
  std::map<std::tuple<unsigned, unsigned, unsigned>, double> pieces; ///< by step, slice and piece: when it is there, if before its slice
  std::map<std::pair<unsigned, unsigned>, Connection> connections;
};

} // namespace
} // namespace connections_reference

std::vector<double> endsByConnections(const Problem &problem, const Schedule &schedule, unsigned steps, double packet,
                                      double ahead, const ConnectionFaults &faults) {
  return connections_reference::World(problem, schedule, packet, ahead, faults).run(steps);
}

} // namespace commsched::schedule
