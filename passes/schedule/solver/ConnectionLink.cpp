// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/ConnectionLink.h"

#include "plan/packets.h"

#include <algorithm>

namespace commsched::schedule {

void ConnectionLink::push(const plan::Urgency &urgency, const Item &item, Time bytes, Time now) {
  // Those that the socket has not taken yet are chosen anew.
  if (const Time taken = many ? takenOfMany(now) : 0; taken < many) {
    queue.Move((taken - many) * packet);
    tail += (taken - many) * packet;
    wire.back().end = tail;
  }
  many = 0;
  queue.Push(urgency, {item.message, item.stage}, bytes, item, pushes);
}

bool ConnectionLink::take(Time now) {
  bool any = false;
  while (!queue.empty() && (!sends() || tail - now <= ahead)) {
    if (!sends())
      tail = now;
    many = 0;
    Packet own;
    size_t pieces = 0;
    Time overhead = 0;
    const Time bytes = queue.Take(
        packet, plan::kPacketFrames,
        [&](const Item &item, Time offset, Time, bool last) {
          ++pieces;
          if (offset == 0)
            overhead += item.overhead;
          if (last) {
            complete.push_back(item);
            ++own.complete;
          }
        },
        plan::EnoughOfServerPacket(packet, ahead));
    tail += overhead + bytes;
    // As long as nothing else comes, those behind it are of the same.
    if (pieces == 1 && own.complete == 0) {
      if (Time rest = (queue.LeftOfNext() - 1) / packet; rest > 0) {
        many = rest + 1;
        manyBegun = tail - packet;
        manyAtOnce = std::min(many, (now - manyBegun + ahead) / packet + 1);
        queue.Move(rest * packet);
        tail += rest * packet;
      }
    }
    own.end = tail;
    wire.push_back(own);
    any = true;
  }
  return any;
}

} // namespace commsched::schedule
