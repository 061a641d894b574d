// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What communication costs at least because it is in messages, however it is cut
// and fused: fewer messages wait for the last tensor in them, and for all of their
// bytes on one link before the next one has any; more messages cost more.
// docs/scheduling.md has the proofs.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_MESSAGECOSTS_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_MESSAGECOSTS_H

#include "passes/schedule/solver/Needs.h"

#include <utility>

namespace commsched::schedule {

/// Work that is there at `ready`.
struct Release {
  Time ready;
  Time work;
  Time whole; ///< of it, what cannot be divided; 0 or `work`
};

/// When a link can be done with all of it at the earliest, if each message needs
/// `overhead` in addition to its work and all of the work in it. Releases do not
/// decrease; the exact recursion of Fusion.h, whose division is the best of all
/// that cut tensors or take them in another order, too.
Time leastEnd(const std::vector<Release> &releases, Time overhead);

/// When two links, one after the other, can be done with messages of the work at
/// the earliest: n messages that come at u or later need
///   (n + 1) overhead + their work + the longest of them
/// from u on, and the longest has an n-th of the work. For the best n, and the
/// latest of all u.
Time leastEndOfTwo(const std::vector<Release> &releases, Time overhead);

/// Communications of a step whose producers are done, and when; in that order.
struct Produced {
  uint64_t step = ~uint64_t{0};
  std::vector<std::pair<unsigned, Time>> communications;
};

/// The least time for what an op of a stream needs, link by link and pair of links
/// by pair.
class MessageCosts {
public:
  /// Times are in parts of a nanosecond: `unit` of them.
  MessageCosts(const Problem &problem,
               const std::vector<std::vector<unsigned>> &order, unsigned stream,
               Time unit);

  /// Whether there is something to find out about the op at this position; with
  /// very many of them, for some.
  bool isUseful(unsigned position) const { return useful[position]; }

  /// When what the op of this step needs can have arrived at the earliest. All of
  /// it must have been produced. `steps` are those up to this one, the newest
  /// last; those before the last three do not count.
  Time earliest(uint64_t step, unsigned position,
                const std::vector<const Produced *> &steps) const;

private:
  struct Visit {
    Time head = 0, work = -1, whole = 0; ///< no work: the group is without it
  };
  /// On one link, or on two in turn.
  struct Group {
    bool two = false;
    Time overhead = 0, tail = 0;
    std::vector<Visit> visits; ///< by communication
  };
  void addLink(const Problem &problem, unsigned link, std::optional<unsigned> kind,
               Time unit);
  void addPairs(const Problem &problem, Time unit);

  std::vector<Need> needs;
  std::vector<Group> groups;
  std::vector<bool> useful;
};

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_MESSAGECOSTS_H
