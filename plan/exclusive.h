// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exclusive exchanges: while one goes through its rounds, its rank sends nothing that is less urgent. The one rule of the
// runtime, which sends, and of the simulator and the compiler, which predict.
//
// In each round of an urgent all-reduce a rank answers what has come, and by then something less urgent is in its socket again,
// and is not overtaken: the link would lose less by waiting for the answer. Ranks that hold something back for what another one
// holds back would wait for ever; so each waits for a time that the plan gives, from when the exchange begins and from each of its
// messages that comes, and what is held back goes when that is over.
#ifndef COMMSCHED_PLAN_EXCLUSIVE_H
#define COMMSCHED_PLAN_EXCLUSIVE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "plan/urgency.h"

namespace commsched::plan {

// The most that a plan may have one wait, in nanoseconds.
inline constexpr int64_t kMostPatience = 1'000'000'000;

// Of one rank. Times are in nanoseconds, of any clock that does not go back.
class Exclusives {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // An exchange begins; of its messages none is less urgent than `urgency`. `id` names it until it ends.
  void Begin(uint64_t id, const Urgency &urgency, int64_t patience, int64_t now) {
    active_.push_back({id, urgency, patience, now + patience});
  }
  // A message of it has come.
  void Progress(uint64_t id, int64_t now) {
    for (Active &active : active_)
      if (active.id == id) active.until = now + active.patience;
  }
  void End(uint64_t id) {
    std::erase_if(active_, [&](const Active &active) { return active.id == id; });
  }

  // What is less urgent than this is held back now; none: nothing is.
  std::optional<Urgency> Least(int64_t now) const {
    std::optional<Urgency> least;
    for (const Active &active : active_)
      if (active.until > now && (!least || *least < active.urgency)) least = active.urgency;
    return least;
  }
  // When that may change though nothing happens.
  int64_t Until(int64_t now) const {
    int64_t until = kNever;
    for (const Active &active : active_)
      if (active.until > now) until = std::min(until, active.until);
    return until;
  }

  // visit(id, left) of those that hold something back, in the order in which they began.
  template <typename Visit>
  void ForEach(int64_t now, Visit visit) const {
    for (const Active &active : active_)
      if (active.until > now) visit(active.id, active.until - now);
  }

 private:
  struct Active {
    uint64_t id;
    Urgency urgency;
    int64_t patience, until;
  };
  std::vector<Active> active_;
};

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_EXCLUSIVE_H
