// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the links to this rank do, from the messages of the training itself.
//
// Between two messages that arrive from a peer the link carried at least what came
// meanwhile: never more than it can, and as much as it can if messages were
// waiting there. So of stretches of enough bytes those that were busy are alike,
// and faster than the others: the rate is their median. Through three ranks and
// more it may be that of a slower link before this one.
#ifndef COMMSCHED_RUNTIME_MEASURE_LINK_OBSERVER_H
#define COMMSCHED_RUNTIME_MEASURE_LINK_OBSERVER_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/sync.h"

namespace commsched::runtime {

// Of one rank. Arrived is called by one thread at a time, the rest by any.
class LinkObserver {
 public:
  struct Link {
    int from = 0, to = 0;
    int64_t bits_per_second = 0;
    int64_t fixed_ns = 0;  // of a short message, besides its bytes; an upper bound
  };
  struct Period {
    uint64_t call = 0;
    uint64_t bytes = 0;
    int64_t ns = 0;
  };
  // Fewer stretches say nothing, nor do shorter ones.
  static constexpr size_t kLeastStretches = 8;
  static constexpr uint64_t kLeastBytes = 64 << 10, kMostBytes = 1 << 20;

  // Keeps the periods of the last `window` calls.
  LinkObserver(int rank, int nodes, uint64_t window);

  int rank() const { return rank_; }
  // Bytes of any message from `peer`.
  void Count(int peer, size_t bytes) {
    peers_[size_t(peer)]->bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  // A message of call `call` is there.
  void Arrived(int peer, uint64_t call, Clock::time_point at);

  // Links that have been used enough, by peer.
  std::vector<Link> Links() const;
  // Of periods one after the other. Nothing if there are too few.
  static std::optional<Link> Fit(const std::vector<Period> &periods);

 private:
  struct Peer {
    std::atomic<uint64_t> bytes{0};
    int arrivals = 0;            // at most 1
    Clock::time_point since;     // the last one
    uint64_t before = 0;         // bytes until then
    std::deque<Period> periods;  // guarded by mu_
  };

  const int rank_;
  const uint64_t window_;
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

// The file that `cs-run --calibrate` writes (docs/costs.md), as far as it can be
// told in passing: no latency.
std::string CalibrationJson(const std::string &module, const std::string &transport,
                            int ranks, const std::vector<LinkObserver::Link> &links);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_MEASURE_LINK_OBSERVER_H
