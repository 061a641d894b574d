// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much the TCP connections of a process may have on their way. Controls that go by losses (Linux's default,
// cubic) fill whatever queue the slowest link has, 5 to 20 ms of it as a rule, and an urgent message waits
// behind all of that: what has been handed to the system cannot be overtaken. About a millisecond
// of it keeps a link as busy.
//
// So connections begin with a small bound, which grows as long as the link could take more. A bound that
// comes later does not help: what TCP and gRPC have made of the first second's bursts stays.
//
// The same idea as TCP Vegas (Brakmo, O'Malley and Peterson, 1994) and byte queue limits (Linux,
// 2011), by the send buffer. Unlike Vegas it gives up where the queue is made by others, whose
// share of the link would otherwise grow at its expense: now and then it tries whether more goes through without a bound. All
// connections are bounded or none, as one that is not would take the link from the others.
#ifndef COMMSCHED_GRPC_BASE_SEND_QUEUE_H
#define COMMSCHED_GRPC_BASE_SEND_QUEUE_H

#include <cstdint>

namespace commsched::transport {

// Of all connections that have sent something since the last look; nothing if none has.
struct SendLook {
  double bytes = 0;        // that have arrived, of all
  double busy_s = 0;       // in which something was to be sent, of the busiest
  double limited_s = 0;    // of these, in which its send buffer was full
  double queue_s = 0;      // that packets wait on the way: their mean
  double least_rtt_s = 0;  // there and back, without a queue: likewise
};

// Not for several threads at once. No clock but what it is given.
class SendQueue {
 public:
  // So often it is to be asked.
  static constexpr double kPeriod = 0.1;
  // Two segments as the kernel makes them: with less each write is a small one.
  static constexpr double kLeastBytes = 128 * 1024;

  // How many bytes each connection may have on its way from now on; 0: as many as TCP likes.
  uint64_t Look(const SendLook &now);
  uint64_t bound() const { return bound_; }
  // The system does not take the bound that Look gave last: none from now on.
  void Refused();

 private:
  static constexpr double kLong = 5e-3, kShort = 0.4e-3, kWanted = 1e-3;  // waiting in queues
  static constexpr double kFaster = 2, kSlower = 1.25;                    // growth, until it was too much
  // Of the time in which something was to be sent, that in which the bound was what stopped it: where packets hardly wait,
  // for so long or such a part of what they are on their way, and elsewhere, in so many looks in a row. One look says little, and
  // what is more than a link needs costs more of a step than it looks like: an urgent message waits for it in each round.
  static constexpr double kHeldUp = 0.2, kHardly = 0.15e-3, kHardlyOfWay = 0.3;
  static constexpr double kStopped = 0.5;
  static constexpr int kSure = 3;
  static constexpr double kLeastBusy = 0.2;            // of a period, else it says nothing
  static constexpr int kWindow = 20;                   // looks over which a bound is judged
  static constexpr int kRest = 300, kMostRest = 9600;  // looks; it doubles each time

  void Set(uint64_t bound);
  // Whether the link could take more than the bound.
  bool IsStopped(const SendLook &now);

  enum class State {
    kBounded,
    kTried,
    kOfOthers,
    kRefused
  };
  State state_ = State::kBounded;
  uint64_t bound_ = uint64_t(kLeastBytes);
  double growth_ = kFaster;
  double rate_ = 0;    // with the bound, before none is tried
  int stopped_ = 0;    // looks in a row
  int until_ = kRest;  // looks until it is asked again whose the queue is
  int rest_ = kRest;
  // Since the bound has had its effect.
  int looks_ = -kWindow / 4;
  double bytes_ = 0, busy_ = 0, queues_ = 0;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SEND_QUEUE_H
