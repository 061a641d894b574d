// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small changes to a schedule that is good already.

#include "passes/schedule/solver/Messages.h"
#include "passes/schedule/solver/Search.h"
#include "passes/schedule/solver/Twins.h"

#include <algorithm>
#include <set>

namespace commsched::schedule {

void searchLocally(Search &search, const View &view) {
  if (view.problem.communications.empty())
    return;
  const Twins twins(view.problem);
  // Round by round: messages in the order of the schedule, those that compute waits
  // for first.
  for (bool better = true; better && !search.done();) {
    better = false;
    std::vector<double> waits(search.best.messages.size(), 0);
    for (size_t m = 0; m < waits.size(); ++m)
      for (const Piece &piece : search.best.messages[m].pieces)
        if (piece.communication < search.evaluation.exposed.size())
          waits[m] = std::max(waits[m], search.evaluation.exposed[piece.communication]);
    std::vector<size_t> turn(waits.size());
    for (size_t m = 0; m < turn.size(); ++m)
      turn[m] = m;
    std::stable_sort(turn.begin(), turn.end(),
                     [&](size_t a, size_t b) { return waits[a] > waits[b]; });
    std::set<std::pair<unsigned, size_t>> tried; // of those with twins
    for (size_t m : turn) {
      if (search.done())
        return;
      double before = search.bestPeriod;
      const Schedule base = search.best;
      if (m >= base.messages.size())
        continue;
      const std::vector<size_t> alike = twins.of(base, m);
      if (alike.size() > 1 && !tried.insert(twins.nameOf(base, m)).second)
        continue;
      const Message &message = base.messages[m];
      Message first, second;
      if (split(view, message, messageBytes(message) / 2, first, second)) {
        Schedule other = base;
        for (auto twin = alike.rbegin(); twin != alike.rend(); ++twin)
          if (split(view, base.messages[*twin], messageBytes(base.messages[*twin]) / 2, first, second)) {
            other.messages[*twin] = first;
            other.messages.insert(other.messages.begin() + *twin + 1, second);
          }
        search.offer(std::move(other));
      }
      auto mergesWithNext = [&](size_t twin) {
        return twin + 1 < base.messages.size() && compatible(view, base.messages[twin], base.messages[twin + 1]);
      };
      if (!search.done() && mergesWithNext(m)) {
        Schedule other = base;
        for (auto twin = alike.rbegin(); twin != alike.rend(); ++twin)
          if (mergesWithNext(*twin)) {
            other.messages[*twin] = merge(base.messages[*twin], base.messages[*twin + 1]);
            other.messages.erase(other.messages.begin() + *twin + 1);
          }
        search.offer(std::move(other));
      }
      // More and less urgent than its neighbours.
      for (int64_t change : {int64_t{-1}, int64_t{1}}) {
        auto differs = [&](size_t twin) {
          size_t other = twin + static_cast<size_t>(change);
          return other < base.messages.size() && base.messages[other].priorities.size() == message.priorities.size() &&
                 base.messages[other].priorities != base.messages[twin].priorities;
        };
        if (search.done() || !differs(m))
          continue;
        Schedule swapped = base;
        for (size_t twin : alike)
          if (differs(twin))
            swapped.messages[twin].priorities = base.messages[twin + static_cast<size_t>(change)].priorities;
        search.offer(std::move(swapped));
      }
      if (search.bestPeriod < before)
        better = true;
    }
  }
}

} // namespace commsched::schedule
