// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the messages of a collective are cut into, and what its rounds take with that:
// for the runtime, which cuts, the simulator and the compiler, which predict. Slices
// go through the rounds independently, so that the link has one of them while another
// is on its way.
#ifndef COMMSCHED_PLAN_SLICES_H
#define COMMSCHED_PLAN_SLICES_H

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "plan/packets.h"

namespace commsched::plan {

// Of a collective of `rounds` rounds in which each rank sends one part of `bytes` bytes.
inline uint32_t SlicesOfPart(uint64_t bytes, uint64_t rounds) {
  // A slice must be long against what a message costs, and against the time from
  // its last byte to the first one of the next round; a few are enough. None waits to be asked for.
  constexpr uint64_t kSliceBytes = uint64_t{512} << 10;
  constexpr uint64_t kFewSlices = 4, kMaxSlices = 256;
  if (rounds < 2) return 1;
  const uint64_t few = std::clamp<uint64_t>(bytes / kSliceBytes, 1, kFewSlices);
  return uint32_t(std::clamp((bytes + kEagerBytes - 1) / kEagerBytes, few, kMaxSlices));
}

// Nanoseconds that such a collective takes on an idle network. A message occupies its
// link for `overhead_ns` and its bytes, and is there `latency_ns` later: between two
// rounds of one slice the link has the others. Those that share a packet are there together.
inline double RoundsNanoseconds(uint64_t rounds, double bytes, double ns_per_byte,
                                double latency_ns, double overhead_ns) {
  const double slices = SlicesOfPart(uint64_t(bytes), rounds);
  const double slice = overhead_ns + bytes / slices * ns_per_byte;
  // A packet takes messages until it has as much as it may have.
  const double packet = double(PacketBytes(int64_t(std::min(double(kLargePacket) * ns_per_byte, 1e18))));
  const double together = std::clamp(std::ceil(packet * slices / std::max(bytes, 1.0)), 1.0, slices) * slice;
  const double all = slices * slice, one = together + latency_ns;
  return double(rounds) * std::max(all, one) + (all > one ? latency_ns : all - together);
}

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_SLICES_H
