// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/ConnectionLink.h"

#include <algorithm>

namespace commsched::schedule {

void ConnectionLink::giveBack(Time now) {
  if (const Time taken = many ? takenOfMany(now) : 0; taken < many) {
    queue.Move((taken - many) * packet);
    tail += (taken - many) * packet;
    wire.back().end = tail;
  }
  many = 0;
}

void ConnectionLink::push(const plan::Urgency &urgency, const Item &item, Time bytes, Time now) {
  giveBack(now);
  queue.Push(urgency, {item.exchange, item.stage, item.message}, bytes, item, pushes);
}

void ConnectionLink::hold(const std::optional<plan::Urgency> &least, Time now) {
  giveBack(now);
  queue.Hold(least);
}

void ConnectionLink::ask(Item item, Time now) {
  giveBack(now);
  item.asks = true;
  asked.push_back(item);
}

bool ConnectionLink::take(Time now) {
  if ((queue.idle() && asked.empty()) || !isFree(now))
    return false;
  if (!sends())
    tail = now;
  many = 0;
  Packet own;
  for (const Item &item : asked) {
    parts.push_back({item, 0, 0, true});
    ++own.parts;
  }
  asked.clear();
  size_t pieces = 0;
  Time overhead = 0;
  const Time bytes = queue.Take(
      packet, plan::kPacketFrames,
      [&](const Item &item, Time offset, Time size, bool last) {
        ++pieces;
        if (offset == 0)
          overhead += item.overhead;
        if (last && accepts)
          taken.push_back(item);
        if (last || item.tells) {
          parts.push_back({item, offset, offset + size, last});
          ++own.parts;
        }
      },
      enough);
  tail += overhead + bytes;
  // As long as nothing else comes, those behind it are of the same.
  if (pieces == 1 && own.parts == 0) {
    if (Time rest = (queue.LeftOfNext() - 1) / packet; rest > 0) {
      many = rest + 1;
      manyBegun = tail - packet;
      // The first one is taken, however long its overhead keeps the others back.
      manyAtOnce = std::clamp<Time>((now - manyBegun + ahead) / packet + 1, 1, many);
      queue.Move(rest * packet);
      tail += rest * packet;
    }
  }
  own.end = tail;
  wire.push_back(own);
  return true;
}

} // namespace commsched::schedule
