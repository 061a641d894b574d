// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One slice of an exchange on its way through the rounds of its phases: what it
// sends and receives next.
//
// What is sent in a round is what has been received before it. A receive may be
// one round ahead of sending, where it does not land on what is still to be sent:
// then what comes has a place while other slices still hold up the link. What
// comes in a round and lands on what that round sends is staged: it is combined
// when the send is over.
//
// A driver tells it what has ended and does what it asks for. D has
//   uint32_t phases(), rounds(uint32_t phase)
//   R RoundAt(const Place &)   peers, -1: none; ranges of the buffer; a type with the
//                              names of runtime::Round
//   Posted Receive(const Place &, const R &, bool staged)
//   void Send(const Place &, const R &)     joins the queue of the link
//   void Take(const Place &, const R &, bool staged)
//                              what was received there is combined now
//   bool Lands(const R &received, const R &sent)
//                              whether what the one receives lands on what the other
//                              sends: LandsOn below, or what knows it faster
//   void Done()                nothing is left; the exchange may be destroyed in it
// None of them calls back into the exchange.
#ifndef COMMSCHED_RUNTIME_CORE_EXCHANGE_H
#define COMMSCHED_RUNTIME_CORE_EXCHANGE_H

#include <cstdint>

#include "runtime/core/message_tag.h"

namespace commsched::runtime::core {

// A round of an exchange.
struct Place {
  uint32_t phase = 0, round = 0;
  uint32_t index = 0;  // counted over all phases
};

// Of the message of a round.
inline MessageTag TagOf(uint64_t call, uint32_t key, const Place &place, uint32_t slice,
                        uint32_t slices) {
  return {call, key, place.phase, place.round * slices + slice};
}

// What became of a receive that was asked for.
enum class Posted {
  kWaits,  // Received will tell
  kHere,   // it is complete already
  kFailed  // the driver gives up: nothing more is done
};

// Whether what `received` receives lands on what `sent` sends.
template <typename R>
bool LandsOn(const R &received, const R &sent) {
  return received.recv_peer >= 0 && sent.send_peer >= 0 &&
         sent.send_begin < received.recv_begin + received.recv_bytes &&
         received.recv_begin < sent.send_begin + sent.send_bytes;
}

class Exchange {
 public:
  template <typename D>
  void Begin(D &driver) {
    SkipEmpty(driver, &recv_);
    send_ = recv_;
    Advance(driver);
  }
  // The message of round send() is with the transport for good.
  template <typename D>
  void Sent(D &driver) {
    sending_ = false;
    Skip(driver, &send_);
    if (staged_ && send_.index > recv_.index) EndReceive(driver);
    Advance(driver);
  }
  // The message of round recv() is here.
  template <typename D>
  void Received(D &driver) {
    Arrived(driver);
    Advance(driver);
  }

  // The rounds that it is in. All before them are complete.
  const Place &send() const { return send_; }
  const Place &recv() const { return recv_; }
  bool sending() const { return sending_; }
  bool receiving() const { return receiving_; }

 private:
  template <typename D>
  static bool IsEnd(D &driver, const Place &place) {
    return place.phase == driver.phases();
  }
  template <typename D>
  static void SkipEmpty(D &driver, Place *place) {
    while (place->phase < driver.phases() && place->round >= driver.rounds(place->phase)) {
      ++place->phase;
      place->round = 0;
    }
  }
  template <typename D>
  static void Skip(D &driver, Place *place) {
    ++place->index;
    ++place->round;
    SkipEmpty(driver, place);
  }

  template <typename D>
  void Arrived(D &driver) {
    receiving_ = false;
    const auto &round = driver.RoundAt(recv_);
    staged_ = driver.Lands(round, round);
    if (!staged_ || send_.index > recv_.index) EndReceive(driver);
  }
  template <typename D>
  void EndReceive(D &driver) {
    driver.Take(recv_, driver.RoundAt(recv_), staged_);
    staged_ = false;
    Skip(driver, &recv_);
  }

  template <typename D>
  bool MayReceive(D &driver) const {
    if (receiving_ || staged_ || IsEnd(driver, recv_)) return false;
    if (recv_.index <= send_.index) return true;
    if (recv_.index > send_.index + 1) return false;
    return !driver.Lands(driver.RoundAt(recv_), driver.RoundAt(send_));
  }

  template <typename D>
  void Advance(D &driver) {
    // A round without one of the two lets the other one go on.
    for (bool moved = true; moved;) {
      moved = false;
      while (MayReceive(driver)) {
        const auto &round = driver.RoundAt(recv_);
        if (round.recv_peer < 0) {
          Skip(driver, &recv_);
          moved = true;
          continue;
        }
        receiving_ = true;
        const Posted posted = driver.Receive(recv_, round, driver.Lands(round, round));
        if (posted == Posted::kFailed) return;
        if (posted == Posted::kWaits) continue;
        Arrived(driver);
        moved = true;
      }
      while (!sending_ && !IsEnd(driver, send_) && send_.index <= recv_.index) {
        const auto &round = driver.RoundAt(send_);
        if (round.send_peer >= 0) {
          sending_ = true;
          driver.Send(send_, round);
        } else {
          Skip(driver, &send_);
          if (staged_ && send_.index > recv_.index) EndReceive(driver);
          moved = true;
        }
      }
    }
    if (IsEnd(driver, send_) && IsEnd(driver, recv_)) driver.Done();
  }

  Place send_, recv_;
  bool sending_ = false, receiving_ = false;
  bool staged_ = false;  // received, and not combined with what is being sent
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_EXCHANGE_H
