// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens when on the virtual clock. Events of one time come out in the
// order in which they were added.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_EVENT_QUEUE_H
#define COMMSCHED_RUNTIME_SIMULATOR_EVENT_QUEUE_H

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/base/time.h"

namespace commsched::runtime::simulator {

struct Event {
  enum Kind : uint32_t {
    kInstruction,  // a: stream
    kChannel,      // a: channel, b: version
    kDelivery,     // a: the first of the messages
    kRound,        // a: communication, b: it begins
    kPatience,     // a: channel
    kServer,       // a: server
    kMerged        // a: what a trainer does with a server's message by itself
  };
  Time time;
  uint64_t order;
  Kind kind;
  uint32_t a, b;
};

class EventQueue {
 public:
  void Add(Time time, Event::Kind kind, uint32_t a, uint32_t b = 0) {
    heap_.push_back({time, next_++, kind, a, b});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  bool empty() const { return heap_.empty(); }
  Time next_time() const { return heap_.front().time; }
  Event Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    Event event = heap_.back();
    heap_.pop_back();
    return event;
  }
  uint64_t added() const { return next_; }

 private:
  struct Later {  // a type, so that it is inlined
    bool operator()(const Event &a, const Event &b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  std::vector<Event> heap_;
  uint64_t next_ = 0;
};

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_EVENT_QUEUE_H
