// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages to one peer that have not been handed to the transport yet: the most
// urgent first. A credit bounds the bytes in flight, handed over and not complete, that are as
// urgent (plan/credit.h). More than that only if nothing on the link
// completes for the time of its patience: between three ranks and more, each may
// wait for a message that another holds back.
#ifndef COMMSCHED_RUNTIME_CORE_LINK_QUEUE_H
#define COMMSCHED_RUNTIME_CORE_LINK_QUEUE_H

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/credit.h"
#include "plan/heap.h"
#include "plan/urgency.h"
#include "runtime/base/time.h"

namespace commsched::runtime::core {

// Of one exchange, slices take turns.
struct SendOrder {
  plan::Urgency urgency;
  uint64_t exchange = 0;  // in the order in which they began
  uint32_t round = 0, slice = 0;
  friend auto operator<=>(const SendOrder &, const SendOrder &) = default;
};

// `Item` names a message; `Bytes` is an arithmetic type. No two messages have one
// order.
template <typename Item, typename Bytes>
class LinkQueue {
 public:
  void Push(const SendOrder &order, Bytes bytes, Item item) {
    queue_.push_back({order, bytes, item});
    plan::PushHeap(queue_, After);
  }

  // What is handed over now, if anything; it counts as in flight. `credit` is that
  // of the most urgent message, 0: any number.
  bool Next(Bytes credit, Time now, Time patience, Item *item) {
    if (queue_.empty()) return false;
    const Bytes bytes = queue_.front().bytes;
    const plan::Urgency &urgency = queue_.front().order.urgency;
    if (credit != 0 && now < patient_until_ && !in_flight_.Fits(urgency, bytes, credit)) return false;
    patient_until_ = now + patience;
    in_flight_.Add(urgency, bytes);
    *item = queue_.front().item;
    plan::PopHeap(queue_, After);
    return true;
  }

  // A message that was handed over, with this urgency and so many bytes, is complete.
  void Completed(const plan::Urgency &urgency, Bytes bytes, Time now, Time patience) {
    in_flight_.Remove(urgency, bytes);
    patient_until_ = now + patience;
  }

  bool empty() const { return queue_.empty(); }
  const Item &front() const { return queue_.front().item; }
  // When the next one goes, if nothing completes before.
  Time patient_until() const { return patient_until_; }

 private:
  struct Entry {
    SendOrder order;
    Bytes bytes;
    Item item;
  };
  static bool After(const Entry &a, const Entry &b) { return a.order > b.order; }

  std::vector<Entry> queue_;  // a heap
  plan::BytesInFlight<Bytes> in_flight_;
  Time patient_until_ = 0;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_LINK_QUEUE_H
