// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the links to this rank do, from the messages of the training itself.
//
// The part of a collective that hands out what has been reduced begins when
// every rank has given its share: from then on nobody waits for compute, and
// the peer sends. So as long as a receive of that part is awaited from a peer,
// the link from there is busy. Such a time is cut into periods where a message
// has come. The bytes of all messages that come in a period, over many periods,
// give the rate of the link and what a period costs besides. Through three ranks and more a rate may be that of a slower link
// before it.
#ifndef COMMSCHED_RUNTIME_REPLANNING_LINK_OBSERVER_H
#define COMMSCHED_RUNTIME_REPLANNING_LINK_OBSERVER_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sync.h"

namespace commsched::runtime {

// Of one rank. Count may be called by any thread; Begin and End by one at a
// time; the rest by any.
class LinkObserver {
 public:
  struct Link {
    int from = 0, to = 0;
    int64_t bits_per_second = 0;
    int64_t fixed_ns = 0;  // of a period, besides its bytes
  };
  struct Period {
    uint64_t call = 0;
    uint64_t bytes = 0;
    int64_t ns = 0;
  };
  // Fewer periods, or shorter ones, say nothing.
  static constexpr size_t kLeastPeriods = 8;
  static constexpr uint64_t kLeastBytes = 4096;
  // A period that goes on is cut when it has so many.
  static constexpr uint64_t kEnoughBytes = 64 << 10;

  // Keeps the periods of the last `window` calls.
  LinkObserver(int rank, int nodes, uint64_t window);

  int rank() const { return rank_; }
  // Bytes of any message from `peer`.
  void Count(int peer, size_t bytes) {
    peers_[size_t(peer)]->bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  // A receive that the peer is known to send for.
  void Begin(int peer, Clock::time_point at);
  void End(int peer, uint64_t call, Clock::time_point at);

  // Links that have been used enough, by peer.
  std::vector<Link> Links() const;
  // The straight line through the periods: bytes against time. Nothing if there
  // are too few of them.
  static std::optional<Link> Fit(std::vector<Period> periods);

 private:
  struct Peer {
    std::atomic<uint64_t> bytes{0};
    int awaited = 0;
    Clock::time_point since;
    uint64_t before = 0;  // bytes
    std::deque<Period> periods;  // guarded by mu_
  };

  const int rank_;
  const uint64_t window_;
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

// The file that `cs-run --calibrate` writes (docs/costs.md), as far as it can be
// told in passing: what a message costs and how long it is under way are one,
// and count as cost.
std::string CalibrationJson(const std::string &module, const std::string &transport,
                            int ranks, const std::vector<LinkObserver::Link> &links);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_LINK_OBSERVER_H
