// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a connection sends when, packet by packet, as the transport does.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONLINK_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONLINK_H

#include "passes/schedule/solver/Problem.h"
#include "plan/packet_queue.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace commsched::schedule {

/// One way of a connection. Packets are taken from what waits (plan/packet_queue.h) when no more than `ahead` of those
/// before it is still to be sent, and what ends in a packet is there when that has been sent. Times of bytes and moments
/// are those of a clock that stands while the connection does not send, and goes at the part of the rate that it has:
/// the caller's, who says what it is.
class ConnectionLink {
public:
  struct Item {
    unsigned exchange = 0, message = 0, stage = 0;
    uint64_t step = 0;
    Time overhead = 0;
    bool tells = false; ///< what has been sent of it, before all of it is
    bool asks = false;  ///< nothing of it is sent: it is asked for
  };
  /// What a packet had of an item, with which it is there.
  struct Part {
    Item item;
    Time begin = 0, end = 0; ///< of its bytes
    bool last = false;
  };

  /// `enough`: of a packet that has something more urgent (PacketQueue). `pushes`: what is sent is of no use before all of
  /// it is there (likewise). `accepts`: accept() is called.
  ConnectionLink(Time packet, Time ahead, Time enough, bool pushes, bool accepts)
      : packet(packet), ahead(ahead), enough(enough), pushes(pushes), accepts(accepts) {}

  /// May be sent from now on.
  void push(const plan::Urgency &urgency, const Item &item, Time bytes, Time now);
  /// Holds back what is less urgent (PacketQueue).
  void hold(const std::optional<plan::Urgency> &least, Time now);
  /// Asks for it, with the next packet.
  void ask(Item item, Time now);
  /// Visits items of which the socket has taken all since the last time.
  template <typename Visit>
  void accept(Time now, Visit visit) {
    if (!isFree(now))
      return;
    for (const Item &item : taken)
      visit(item);
    taken.clear();
  }
  /// Takes a packet if the socket does now; else false.
  bool take(Time now);
  /// Visits what has been sent by now, the last part of each item and those of others that tell, and forgets it.
  template <typename Visit>
  void deliver(Time now, Visit visit) {
    for (; sends() && wire[first].end <= now; ++first)
      for (unsigned i = 0; i < wire[first].parts; ++i)
        visit(parts[firstPart++]);
    if (!sends()) { // their memory is kept
      wire.clear();
      parts.clear();
      first = firstPart = 0;
    }
  }

  bool sends() const { return first < wire.size(); }
  /// When there is next something to take, or to deliver. Requires that it sends.
  Time next() const {
    return queue.idle() && taken.empty() && asked.empty() ? wire[first].end : std::min(wire[first].end, tail - ahead);
  }
  /// visit() of numbers on which what comes depends, steps counted from `step`.
  template <typename Visit>
  void describe(Time now, uint64_t step, Visit visit) const;

private:
  /// Packets that the socket has not taken yet are chosen anew.
  void giveBack(Time now);
  /// Whether the socket has room for a packet.
  bool isFree(Time now) const { return !sends() || tail - now <= ahead; }
  /// Of `many`, those that the socket has taken.
  Time takenOfMany(Time now) const {
    return std::clamp((now - manyBegun + ahead + packet - 1) / packet, manyAtOnce, many);
  }

  struct Packet {
    Time end = 0;
    unsigned parts = 0; ///< how many
  };

  Time packet, ahead, enough;
  bool pushes, accepts;
  plan::PacketQueue<std::tuple<unsigned, unsigned, unsigned>, Item, Time> queue;
  std::vector<Packet> wire; ///< from `first` on
  std::vector<Part> parts;  ///< of these, from `firstPart` on
  size_t first = 0, firstPart = 0;
  std::vector<Item> taken; ///< whole, of the last packet
  std::vector<Item> asked;
  Time tail = 0; ///< when all packets that were taken have been sent
  /// Where the last of them stands for several of one item: those behind it, begun when, of which so many were taken at once.
  Time many = 0, manyBegun = 0, manyAtOnce = 0;
};

template <typename Visit>
void ConnectionLink::describe(Time now, uint64_t step, Visit visit) const {
  std::vector<std::vector<int64_t>> waiting;
  queue.ForEach([&](const plan::Urgency &, const auto &, const Item &item, Time left) {
    waiting.push_back({static_cast<int64_t>(item.step - step), item.message, item.stage, left});
  });
  std::sort(waiting.begin(), waiting.end());
  visit(static_cast<int64_t>(waiting.size()));
  for (const std::vector<int64_t> &numbers : waiting)
    for (int64_t number : numbers)
      visit(number);
  visit(static_cast<int64_t>(wire.size() - first));
  for (size_t i = first; i < wire.size(); ++i) {
    visit(wire[i].end - now);
    visit(wire[i].parts);
  }
  for (size_t i = firstPart; i < parts.size(); ++i)
    for (int64_t number : {static_cast<int64_t>(parts[i].item.step - step), int64_t{parts[i].item.message}, int64_t{parts[i].item.stage}, int64_t{parts[i].item.asks}, parts[i].begin, parts[i].end})
      visit(number);
  visit(static_cast<int64_t>(taken.size()));
  for (const Item &item : asked)
    for (int64_t number : {static_cast<int64_t>(item.step - step), int64_t{item.message}, int64_t{item.stage}})
      visit(number);
  if (many && takenOfMany(now) < many)
    visit(now - manyBegun);
}

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONLINK_H
