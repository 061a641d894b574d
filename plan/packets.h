// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In what a connection's messages go: for the transport, the simulator and the compiler,
// which predict what overtakes what. An urgent message waits for about two packets and what
// a socket has, so they are short where long ones take long; each costs processor time, so
// they are not shorter.
#ifndef COMMSCHED_PLAN_PACKETS_H
#define COMMSCHED_PLAN_PACKETS_H

#include <cstdint>

namespace commsched::plan {

inline constexpr uint64_t kLargePacket = uint64_t{1} << 20;
inline constexpr uint64_t kSmallPacket = uint64_t{64} << 10;
// Nanoseconds that a packet may take. A large one takes longer below 4.2 Gbit/s. Each round of an urgent
// all-reduce waits so long; with half of it processors that compute too gain nothing any more.
inline constexpr int64_t kSlowPacket = 2'000'000;
// By the nanoseconds that a large one takes: the largest power of two that takes no longer than
// `slow`, and no less than a small one.
constexpr uint64_t PacketBytes(int64_t took, int64_t slow = kSlowPacket) {
  uint64_t bytes = kLargePacket;
  for (; bytes > kSmallPacket && took > slow; took /= 2) bytes /= 2;
  return bytes;
}

// Nanoseconds that a packet of a connection with a server may take, as it sees its link, which so many such connections share: 4 ms of
// two at most, as the processors of a server are what is short; then the less the more there are, as something urgent waits for a packet
// of each, at both ends.
constexpr int64_t SlowServerPacket(int64_t sharing) {
  if (sharing <= 2) return 2 * kSlowPacket;
  return sharing < 8 ? 4 * kSlowPacket / sharing : kSlowPacket / 2;
}

// Of such a connection, if all of them are busy; a large one takes `took` on the link alone.
constexpr uint64_t ServerPacketBytes(int64_t took, int64_t sharing) {
  return PacketBytes(took <= INT64_MAX / sharing ? took * sharing : INT64_MAX, SlowServerPacket(sharing));
}

// Of a packet between ranks: with so much of it, it ends before what is less urgent, as it is received as a whole. A round of an urgent
// all-reduce would end with what else is in its packet, and there are many rounds in a row.
constexpr uint64_t EnoughOfPacket(uint64_t bytes) { return bytes < kSmallPacket ? bytes : kSmallPacket; }

// Between ranks a longer message waits until its receiver has asked for it, when the round before is there.
inline constexpr uint64_t kEagerBytes = uint64_t{4} << 20;

// That a socket is given before they are sent: what it has cannot be overtaken.
inline constexpr uint64_t kSocketBytes = uint64_t{128} << 10;

// A packet between a trainer and a server, as on links that many share.
constexpr bool IsShortServerPacket(int64_t bytes, int64_t ahead = int64_t(kSocketBytes)) { return bytes <= ahead; }

// Of a packet of `bytes` between a trainer and a server: with so much of it, it ends before what is less urgent, for whose part what ends
// in it would wait. Each packet costs the same, so they are not shorter than what has to be waited for anyway, with what is in front and
// what is behind it in a socket. Of short ones five eighths are enough: what ends with most of a packet need not wait for the rest of it,
// on each of these connections. There are at most 1.6 times as many packets so.
constexpr int64_t EnoughOfServerPacket(int64_t bytes, int64_t ahead = int64_t(kSocketBytes)) {
  if (IsShortServerPacket(bytes, ahead)) return bytes / 8 * 5;
  return bytes / 4 > 2 * ahead ? bytes / 4 : 2 * ahead;
}

// Pushes up to this size are copied, so that they are done at once: the new value is asked for with the push, in its last packet, and
// nobody waits until the server has taken it. Schedules have parts of a MiB, of the largest models of 1.6.
inline constexpr uint64_t kCopiedPush = uint64_t{2} << 20;

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_PACKETS_H
