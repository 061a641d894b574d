// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long the packets of a connection are (plan/packets.h), by how long they took.
//
// What a write takes is no more than what its bytes take on the link: buffers have taken a part
// of them. From the end of a write to the end of the next one passes no less than that, if
// these never ran empty. So packets become shorter by the first, longer by the second, and
// where a credit or a lack of messages leaves pauses they are not taken for a fast link.
#ifndef COMMSCHED_RUNTIME_CORE_PACKET_SIZE_H
#define COMMSCHED_RUNTIME_CORE_PACKET_SIZE_H

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plan/packets.h"
#include "runtime/base/time.h"

namespace commsched::runtime::core {

inline constexpr size_t kLargePacket = plan::kLargePacket;

class PacketSize {
 public:
  // Packets of `most` bytes at most, of those longer than a small one none that takes longer than `slow`. Until the link is known, 256 KiB.
  explicit PacketSize(size_t most, Time slow = plan::kSlowPacket) : most_(most), slow_(slow), bytes_(std::min(most, kFirst)) {}

  size_t bytes() const { return bytes_; }

  // A packet of `size` bytes has been written from `begin` to `end`, after those before it.
  void Written(size_t size, Time begin, Time end) {
    if (bytes_ > 2 * size) return;  // tells of latencies; its time is a pause
    const Time from = std::exchange(last_end_, end);
    writing_ += end - begin;
    passed_ += from == 0 ? end - begin : end - from;
    run_bytes_ += size;
    if (run_bytes_ < kRunBytes) return;
    const size_t shorter = Wanted(writing_), longer = Wanted(passed_);
    if (shorter < bytes_)
      bytes_ = shorter;
    else if (longer > bytes_ && (longer < kLargePacket || OfALarge(passed_) < kFastPacket))
      bytes_ = std::min(most_, longer);
    run_bytes_ = 0;
    writing_ = passed_ = 0;
  }

 private:
  static constexpr size_t kFirst = 4 * plan::kSmallPacket;
  // Over so many bytes, buffers and moments without a processor do not hide the rate of a link.
  static constexpr size_t kRunBytes = 4 * kLargePacket;
  // Above 10 Gbit/s; what is between that and kSlowPacket leaves packets as they are.
  static constexpr Time kFastPacket = 800'000;

  Time OfALarge(Time run) const {
    return Time(double(run) * double(kLargePacket) / double(run_bytes_));
  }
  size_t Wanted(Time run) const { return plan::PacketBytes(OfALarge(run), slow_); }

  size_t most_;
  Time slow_;
  size_t bytes_;
  // Since packets have the length that they have, or the last 4 MiB of them.
  size_t run_bytes_ = 0;
  Time writing_ = 0, passed_ = 0;
  Time last_end_ = 0;  // 0: of none
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_PACKET_SIZE_H
