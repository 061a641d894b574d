// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes into the packets of a connection that messages share: of the messages
// that may go, the most urgent first (plan/urgency.h), then in the order of the plan, which is the
// same on all ranks. In the order in which they were given, a collective's next round would wait
// for all others' rounds, and all would end late.
#ifndef COMMSCHED_PLAN_PACKET_QUEUE_H
#define COMMSCHED_PLAN_PACKET_QUEUE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "plan/heap.h"
#include "plan/urgency.h"

namespace commsched::plan {

inline constexpr size_t kPacketFrames = 256;  // of a packet, at most

// Whether something more urgent, of so many bytes, goes before the rest of a message that is of no
// use before all of it is there. What is longer waits for the rest, which is shorter than itself.
// Without this, of messages that come one after the other, more and more urgent, as gradients do,
// each would be begun, and none be there before long.
template <typename Bytes>
constexpr bool OvertakesWhole(Bytes urgent, Bytes rest) {
  return urgent < rest;
}

// `Order` compares by the plan, `Item` names a message, `Bytes` is arithmetic. No
// two messages have one urgency and order.
template <typename Order, typename Item, typename Bytes>
class PacketQueue {
 public:
  // `whole`: a part of it is of no use. Once begun, it is overtaken as OvertakesWhole says.
  void Push(const Urgency &urgency, const Order &order, Bytes bytes, Item item, bool whole = false) {
    queue_.push_back({urgency, order, bytes, 0, whole, std::move(item)});
    PushHeap(queue_, After);
  }

  // Takes a packet, pieces of at most `packet_bytes` until these are together, and what is left of `frames`: calls
  // add(item, offset, size, last) for each piece, which is one frame. What is not as urgent as its
  // first piece is in the first `enough` bytes only, as a packet is received as a whole; nor is anything if it has
  // something `before` that is more urgent than all. Returns the bytes.
  template <typename Add>
  Bytes Take(Bytes packet_bytes, size_t frames, Add add, Bytes enough = std::numeric_limits<Bytes>::max(), bool before = false) {
    Bytes taken = 0;
    std::optional<Urgency> most;
    if (before) most = Urgency{std::numeric_limits<int64_t>::min(), 0};
    while (!idle() && frames-- > 0 && taken < packet_bytes) {
      const bool begun = !begun_.empty() && !Overtakes();
      Entry &first = Next();
      if (!most) most = first.urgency;
      const Bytes room = first.urgency == *most || enough >= packet_bytes ? packet_bytes : enough - std::min(enough, taken);
      if (room == 0) break;
      const Bytes left = first.bytes - first.written;
      const Bytes size = std::min(left, room);
      const bool last = size == left;
      add(first.item, first.written, size, last);
      taken += size;
      first.written += size;
      if (!last && (begun || !first.whole)) continue;
      if (!last) begun_.push_back(std::move(first));
      if (begun)
        begun_.pop_back();
      else
        PopHeap(queue_, After);
    }
    return taken;
  }

  // Of what is next, what is left of it.
  Bytes LeftOfNext() { return Next().bytes - Next().written; }
  // Takes `bytes` of that, or, before anything is pushed or taken, gives them back; less than all of it.
  void Move(Bytes bytes) { Next().written += bytes; }

  // Holds back what is less urgent, until this is called again; none: nothing (plan/exclusive.h).
  void Hold(const std::optional<Urgency> &least) { least_ = least; }

  bool empty() const { return queue_.empty() && begun_.empty(); }
  // Whether there is nothing that may be taken.
  bool idle() const { return empty() || (least_ && *least_ < Next().urgency); }
  // visit(urgency, order, item, left) of what has not been taken whole, in any order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const std::vector<Entry> *entries : {&queue_, &begun_})
      for (const Entry &entry : *entries) visit(entry.urgency, entry.order, entry.item, entry.bytes - entry.written);
  }
  // What has not been taken whole, in any order.
  std::vector<Item> Clear() {
    std::vector<Item> items;
    for (std::vector<Entry> *entries : {&queue_, &begun_}) {
      for (Entry &entry : *entries) items.push_back(std::move(entry.item));
      entries->clear();
    }
    return items;
  }

 private:
  struct Entry {
    Urgency urgency;
    Order order;
    Bytes bytes, written;
    bool whole;
    Item item;
  };
  const Entry &Next() const { return !begun_.empty() && !Overtakes() ? begun_.back() : queue_.front(); }
  Entry &Next() { return const_cast<Entry &>(std::as_const(*this).Next()); }
  // Whether the first of the queue goes before what was begun last, which may be held back.
  bool Overtakes() const {
    const Entry &begun = begun_.back();
    return !queue_.empty() && After(begun, queue_.front()) &&
           (OvertakesWhole(queue_.front().bytes, begun.bytes - begun.written) ||
            (least_ && *least_ < begun.urgency && !(*least_ < queue_.front().urgency)));
  }
  static bool After(const Entry &a, const Entry &b) {
    return a.urgency != b.urgency ? a.urgency > b.urgency : b.order < a.order;
  }
  std::vector<Entry> queue_;  // a heap
  // What is whole and has been begun, each more urgent than the one before it.
  std::vector<Entry> begun_;
  std::optional<Urgency> least_;
};

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_PACKET_QUEUE_H
