// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a connection with a server sends when, packet by packet, as the transport does.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONLINK_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONLINK_H

#include "passes/schedule/solver/Problem.h"
#include "plan/packet_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace commsched::schedule {

/// One way of a connection. Packets are taken from what waits (plan/packet_queue.h) when no more than `ahead` of those
/// before it is still to be sent, and what ends in a packet is there when that has been sent. Times of bytes and moments
/// are those of a clock that stands while the connection does not send, and goes at the part of the rate that it has:
/// the caller's, who says what it is.
class ConnectionLink {
public:
  struct Item {
    unsigned message = 0, stage = 0;
    uint64_t step = 0;
    Time overhead = 0;
  };

  /// `pushes`: what is sent is of no use before all of it is there (PacketQueue).
  ConnectionLink(Time packet, Time ahead, bool pushes) : packet(packet), ahead(ahead), pushes(pushes) {}

  /// May be sent from now on.
  void push(const plan::Urgency &urgency, const Item &item, Time bytes, Time now);
  /// Takes what the socket takes now; false if that is nothing.
  bool take(Time now);
  /// Visits what has been sent by now, and forgets it.
  template <typename Visit>
  void deliver(Time now, Visit visit) {
    for (; sends() && wire[first].end <= now; ++first)
      for (unsigned i = 0; i < wire[first].complete; ++i)
        visit(complete[firstComplete++]);
    if (!sends()) { // their memory is kept
      wire.clear();
      complete.clear();
      first = firstComplete = 0;
    }
  }

  bool sends() const { return first < wire.size(); }
  /// When there is next something to take, or to deliver. Requires that it sends.
  Time next() const {
    return queue.empty() ? wire[first].end : std::min(wire[first].end, tail - ahead);
  }
  /// visit() of numbers on which what comes depends, steps counted from `step`.
  template <typename Visit>
  void describe(Time now, uint64_t step, Visit visit) const;

private:
  /// Of `many`, those that the socket has taken.
  Time takenOfMany(Time now) const {
    return std::clamp((now - manyBegun + ahead + packet - 1) / packet, manyAtOnce, many);
  }

  struct Packet {
    Time end = 0;
    unsigned complete = 0; ///< how many items
  };

  Time packet, ahead;
  bool pushes;
  plan::PacketQueue<std::pair<unsigned, unsigned>, Item, Time> queue;
  std::vector<Packet> wire;   ///< from `first` on
  std::vector<Item> complete; ///< of these, from `firstComplete` on
  size_t first = 0, firstComplete = 0;
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
    visit(wire[i].complete);
  }
  for (size_t i = firstComplete; i < complete.size(); ++i)
    for (int64_t number : {static_cast<int64_t>(complete[i].step - step), int64_t{complete[i].message}, int64_t{complete[i].stage}})
      visit(number);
  if (many && takenOfMany(now) < many)
    visit(now - manyBegun);
}

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_CONNECTIONLINK_H
