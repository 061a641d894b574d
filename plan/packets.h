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
// Nanoseconds. A large packet takes longer than this below 3 Gbit/s.
inline constexpr int64_t kSlowPacket = 3'000'000;

// By the nanoseconds that a large one takes. Above 1.15 Gbit/s twice a small one: less would
// keep the processors of a link of 2 Gbit/s busy, so that it looks like a slower one, and
// more costs a link of 1 Gbit/s a quarter of its rate.
constexpr uint64_t PacketBytes(int64_t took) {
  constexpr int64_t kVerySlowPacket = 7'300'000;
  if (took <= kSlowPacket) return kLargePacket;
  return took <= kVerySlowPacket ? 2 * kSmallPacket : kSmallPacket;
}

// That a socket is given before they are sent: what it has cannot be overtaken.
inline constexpr uint64_t kSocketBytes = uint64_t{128} << 10;

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_PACKETS_H
