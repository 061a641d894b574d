// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small changes to a schedule that is good already.

#include "passes/schedule/solver/Messages.h"
#include "passes/schedule/solver/Search.h"

#include <algorithm>

namespace commsched::schedule {

void searchLocally(Search &search, const View &view) {
  if (view.problem.communications.empty())
    return;
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
    for (size_t m : turn) {
      if (search.done())
        return;
      double before = search.bestPeriod;
      const Schedule base = search.best;
      if (m >= base.messages.size())
        continue;
      const Message &message = base.messages[m];
      Message first, second;
      if (split(view, message, messageBytes(message) / 2, first, second)) {
        Schedule other = base;
        other.messages[m] = first;
        other.messages.insert(other.messages.begin() + m + 1, second);
        search.offer(std::move(other));
      }
      if (!search.done() && m + 1 < base.messages.size() &&
          compatible(view, message, base.messages[m + 1])) {
        Schedule other = base;
        other.messages[m] = merge(message, base.messages[m + 1]);
        other.messages.erase(other.messages.begin() + m + 1);
        search.offer(std::move(other));
      }
      // More and less urgent than its neighbours.
      for (int64_t change : {int64_t{-1}, int64_t{1}}) {
        size_t other = m + static_cast<size_t>(change);
        if (search.done() || other >= base.messages.size() ||
            base.messages[other].priorities.size() != message.priorities.size() ||
            base.messages[other].priorities == message.priorities)
          continue;
        Schedule swapped = base;
        swapped.messages[m].priorities = base.messages[other].priorities;
        search.offer(std::move(swapped));
      }
      if (search.bestPeriod < before)
        better = true;
    }
  }
}

} // namespace commsched::schedule
