// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages merged and split.

#include "passes/schedule/solver/Messages.h"

#include <algorithm>

namespace commsched::schedule {

using Priorities = std::vector<int64_t>;

// Priorities like those that the messages had: as urgent as the most urgent of
// them, stage by stage.
static Priorities mostUrgent(const Priorities &a, const Priorities &b) {
  Priorities result = a;
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = std::min(a[i], b[i]);
  return result;
}

bool compatible(const View &view, const Message &a, const Message &b) {
  const std::vector<Communication> &all = view.problem.communications;
  if (all[a.pieces.front().communication].kind !=
      all[b.pieces.front().communication].kind)
    return false;
  int64_t produced = -1;
  for (const Message *message : {&a, &b})
    for (const Piece &piece : message->pieces)
      produced = std::max(produced, view.produced[piece.communication]);
  return produced < std::min(firstNeed(view, a), firstNeed(view, b));
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

int64_t messageBytes(const Message &message) {
  int64_t bytes = 0;
  for (const Piece &piece : message.pieces)
    bytes += piece.end - piece.begin;
  return bytes;
}

bool split(const View &view, const Message &message, int64_t bytes, Message &first,
           Message &second) {
  first.pieces.clear();
  second.pieces.clear();
  int64_t filled = 0;
  for (const Piece &piece : message.pieces) {
    int64_t size = piece.end - piece.begin;
    int64_t room = std::clamp<int64_t>(bytes - filled, 0, size);
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

} // namespace commsched::schedule
