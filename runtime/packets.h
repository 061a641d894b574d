// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What messages are put into where they share a connection (gRPC), for the transport
// and for the simulator. An urgent message waits for about two packets, so they are
// short where long ones take long; each costs processor time, so they are not shorter.
#ifndef COMMSCHED_RUNTIME_PACKETS_H
#define COMMSCHED_RUNTIME_PACKETS_H

#include <chrono>
#include <cstddef>

namespace commsched::runtime {

inline constexpr size_t kLargePacket = size_t{1} << 20;
inline constexpr size_t kSmallPacket = size_t{64} << 10;
inline constexpr size_t kPacketFrames = 256;  // at most
// A large packet takes longer than this below 3 Gbit/s.
inline constexpr std::chrono::nanoseconds kSlowPacket{3'000'000};

// By what a large one takes. Above 1.15 Gbit/s twice a small one: less would
// keep the processors of a link of 2 Gbit/s busy, so that it looks like a slower one, and
// more costs a link of 1 Gbit/s a quarter of its rate.
constexpr size_t PacketBytes(std::chrono::nanoseconds took) {
  constexpr std::chrono::nanoseconds kVerySlowPacket{7'300'000};
  if (took <= kSlowPacket) return kLargePacket;
  return took <= kVerySlowPacket ? 2 * kSmallPacket : kSmallPacket;
}

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PACKETS_H
