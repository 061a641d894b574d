// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens when on the virtual clock. Events of one time come out in the
// order in which they were added.
//
// Ranks that are alike do the same at the same time: the heap is one of moments, and
// the events of a moment are a list. Which list a time has is looked up among those
// that were made last; a time that is no longer found there gets one more moment,
// which comes after the others of this time.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_EVENT_QUEUE_H
#define COMMSCHED_RUNTIME_SIMULATOR_EVENT_QUEUE_H

#include <array>
#include <cstdint>
#include <vector>

#include "plan/heap.h"
#include "runtime/base/time.h"

namespace commsched::runtime::simulator {

struct Event {
  enum Kind : uint32_t {
    kInstruction,  // a: stream
    kChannel,      // a: channel, b: version
    kDelivery,     // a: the first of the messages
    kProgress,     // a: of a message that is not there whole
    kRound,        // a: communication, b: it begins
    kPatience,     // a: channel
    kHold,         // a: rank
    kServer,       // a: server
    kNccl,         // a: communication
    kMerged        // a: what a trainer does with a server's message by itself
  };
  Kind kind;
  uint32_t a, b;
};

class EventQueue {
 public:
  void Add(Time time, Event::Kind kind, uint32_t a, uint32_t b = 0) {
    Recent &recent = recent_[Place(time)];
    if (recent.list == kNone || recent.time != time) recent = {time, NewMoment(time)};
    lists_[recent.list].events.push_back({kind, a, b});
  }
  bool empty() const { return heap_.empty(); }
  // Of a queue that is not empty, as Pop().
  Time next_time() const { return heap_.front().time; }
  Event Pop() {
    const Moment moment = heap_.front();
    List &list = lists_[moment.list];
    const Event event = list.events[list.taken++];
    if (list.taken == list.events.size()) EndMoment(moment);
    return event;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr int kRecentBits = 8;
  struct Moment {
    Time time;
    uint64_t order;
    uint32_t list;
  };
  struct List {
    std::vector<Event> events;
    size_t taken = 0;
  };
  struct Recent {
    Time time = 0;
    uint32_t list = kNone;
  };
  struct Later {  // a type, so that it is inlined
    bool operator()(const Moment &a, const Moment &b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  static size_t Place(Time time) {  // by the golden ratio, as Knuth's volume 3 has it
    return uint64_t(time) * 0x9e3779b97f4a7c15u >> (64 - kRecentBits);
  }
  uint32_t NewMoment(Time time) {
    uint32_t list = uint32_t(lists_.size());
    if (free_.empty()) {
      lists_.emplace_back();
    } else {
      list = free_.back();
      free_.pop_back();
    }
    heap_.push_back({time, next_++, list});
    plan::PushHeap(heap_, Later());
    return list;
  }
  void EndMoment(const Moment &moment) {
    Recent &recent = recent_[Place(moment.time)];
    if (recent.list == moment.list) recent.list = kNone;
    lists_[moment.list].events.clear();
    lists_[moment.list].taken = 0;
    free_.push_back(moment.list);
    plan::PopHeap(heap_, Later());
  }

  std::vector<Moment> heap_;
  std::vector<List> lists_;
  std::vector<uint32_t> free_;  // of lists_
  std::array<Recent, size_t{1} << kRecentBits> recent_;
  uint64_t next_ = 0;
};

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_EVENT_QUEUE_H
