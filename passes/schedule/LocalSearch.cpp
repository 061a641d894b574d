// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small changes to a schedule that is good already.

#include "passes/schedule/Partition.h"
#include "passes/schedule/Search.h"

#include <algorithm>
#include <map>

namespace commsched::schedule {

namespace {

using Priorities = std::vector<int64_t>;

// Priorities like those that the messages had: as urgent as the most urgent of
// them, stage by stage.
Priorities mostUrgent(const Priorities &a, const Priorities &b) {
  Priorities result = a;
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = std::min(a[i], b[i]);
  return result;
}

// Whether the parts can be one message: an op of the same step that needs one must
// not come before the producers of another.
bool compatible(const View &view, const Message &a, const Message &b) {
  const std::vector<Communication> &all = view.problem.communications;
  if (all[a.pieces.front().communication].kind !=
      all[b.pieces.front().communication].kind)
    return false;
  int64_t needed = INT64_MAX, produced = -1;
  for (const Message *message : {&a, &b})
    for (const Piece &piece : message->pieces) {
      needed = std::min(needed, view.needed[piece.communication]);
      produced = std::max(produced, view.produced[piece.communication]);
    }
  return produced < needed;
}

Message merge(const Message &a, const Message &b) {
  Message merged = a;
  for (const Piece &piece : b.pieces)
    if (Piece &last = merged.pieces.back();
        last.communication == piece.communication && last.end == piece.begin)
      last.end = piece.end;
    else
      merged.pieces.push_back(piece);
  merged.priorities = mostUrgent(a.priorities, b.priorities);
  return merged;
}

// The first half and the rest, at a boundary of tensors if they are indivisible.
bool split(const View &view, const Message &message, Message &first, Message &second) {
  int64_t bytes = 0;
  for (const Piece &piece : message.pieces)
    bytes += piece.end - piece.begin;
  first.pieces.clear();
  second.pieces.clear();
  int64_t filled = 0;
  for (const Piece &piece : message.pieces) {
    int64_t size = piece.end - piece.begin;
    int64_t room = std::clamp<int64_t>(bytes / 2 - filled, 0, size);
    if (!view.problem.communications[piece.communication].divisible)
      room = room * 2 >= size ? size : 0;
    if (room > 0)
      first.pieces.push_back({piece.communication, piece.begin, piece.begin + room});
    if (room < size)
      second.pieces.push_back({piece.communication, piece.begin + room, piece.end});
    filled += size;
  }
  first.priorities = second.priorities = message.priorities;
  return !first.pieces.empty() && !second.pieces.empty();
}

} // namespace

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
      if (split(view, message, first, second)) {
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
