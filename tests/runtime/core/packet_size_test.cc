// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/packet_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace commsched {
namespace {

using runtime::Time;
using runtime::core::PacketSize;

constexpr double kMiB = 1 << 20;

// A link that sends one byte after the other, behind a buffer. A write ends when all of its
// bytes are in that.
class Link {
 public:
  Link(double bits_per_s, double buffer) { Become(bits_per_s, buffer); }

  void Become(double bits_per_s, double buffer) {
    rate_ = bits_per_s / 8e9;
    buffer_ = buffer;
  }

  void Write(PacketSize &packets, double size, double pause) {
    const double begin = now_ + pause;
    held_ = std::max(0.0, held_ - pause * rate_);
    const double over = std::max(0.0, held_ + size - buffer_);
    now_ = begin + over / rate_;
    held_ = held_ + size - over;
    packets.Written(size_t(size), Time(begin), Time(now_));
  }

 private:
  double rate_, buffer_;  // bytes in a nanosecond; bytes
  double now_ = 1e9, held_ = 0;
};

// The largest power of two from 64 KiB to 1 MiB that takes no longer than 2 ms.
size_t Right(double bits_per_s) {
  const double most = bits_per_s / 8 * 2e-3;
  return size_t(std::clamp(std::exp2(std::floor(std::log2(most))), kMiB / 16, kMiB));
}

void ForSeeds(const std::function<void(std::mt19937_64 &, double bits_per_s)> &check) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    const double bits_per_s = std::exp(std::uniform_real_distribution(std::log(2e7), std::log(4e10))(random));
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << bits_per_s / 1e6 << " Mbit/s");
    check(random, bits_per_s);
  }
}

TEST(PacketSizeTest, FollowsALinkThatIsAlwaysBusy) {
  ForSeeds([](std::mt19937_64 &random, double bits_per_s) {
    PacketSize packets(size_t{1} << 20);
    // As if it had been another link before.
    Link link(bits_per_s * std::exp(std::uniform_real_distribution(-3.0, 3.0)(random)), 2e5);
    for (int i = 0; i < 200; ++i) link.Write(packets, double(packets.bytes()), 0);
    const size_t was = packets.bytes();
    link.Become(bits_per_s, std::uniform_real_distribution(0.0, 2e5)(random));
    for (int i = 0; i < 400; ++i) link.Write(packets, double(packets.bytes()), 0);
    if (bits_per_s < 4e9) {  // at the powers of two, what the buffer took decides
      EXPECT_TRUE(packets.bytes() == Right(bits_per_s * 0.9) || packets.bytes() == Right(bits_per_s * 1.1))
          << packets.bytes();
    } else if (bits_per_s > 1.1e10) {
      EXPECT_EQ(packets.bytes(), size_t{1} << 20);
    } else if (bits_per_s > 5e9) {  // neither slow nor fast
      EXPECT_GE(packets.bytes(), was);
    }
  });
}

// 4 ms of one or two that share a link, 8 ms divided by their number of more, but 1 ms; between ranks 2 ms.
TEST(PacketSizeTest, ThoseOfServersTakeWhatTheirNumberSays) {
  ForSeeds([](std::mt19937_64 &random, double bits_per_s) {
    if (bits_per_s > 2e9) return;
    const auto sharing = int64_t(1 + random() % 64);
    const double times = sharing <= 2 ? 2 : std::max(0.5, 4 / double(sharing));
    PacketSize packets(size_t{1} << 20, plan::SlowServerPacket(sharing));
    Link link(bits_per_s, 0);
    for (int i = 0; i < 400; ++i) link.Write(packets, double(packets.bytes()), 0);
    EXPECT_TRUE(packets.bytes() == Right(0.9 * times * bits_per_s) || packets.bytes() == Right(1.1 * times * bits_per_s)) << packets.bytes();
  });
}

TEST(PacketSizeTest, PausesSayNothing) {
  ForSeeds([](std::mt19937_64 &random, double bits_per_s) {
    PacketSize packets(size_t{1} << 20);
    Link link(bits_per_s, 3e5);
    std::uniform_real_distribution share(0.0, 1.0);
    const double longest = std::exp(std::uniform_real_distribution(std::log(1e4), std::log(1e9))(random));
    for (int i = 0; i < 2000; ++i) {
      const double size = share(random) < 0.5 ? double(packets.bytes()) : 1 + share(random) * 2 * double(packets.bytes());
      link.Write(packets, size, share(random) < 0.3 ? 0 : share(random) * longest);
      ASSERT_LE(packets.bytes(), std::max(Right(bits_per_s * 1.1), size_t{256} << 10));
      ASSERT_GE(packets.bytes(), std::min(Right(bits_per_s * 0.9), size_t{256} << 10));
    }
  });
}

TEST(PacketSizeTest, ASlowLinkIsSeenInSpiteOfPauses) {
  ForSeeds([](std::mt19937_64 &random, double bits_per_s) {
    PacketSize packets(size_t{1} << 20);
    Link link(bits_per_s, 1e5);
    std::uniform_real_distribution share(0.5, 1.0);
    for (int i = 0; i < 2000; ++i) {
      const double size = share(random) * double(packets.bytes());
      // The link never has nothing to do for longer than for a tenth of the time.
      link.Write(packets, size, share(random) * std::min(0.2 * size, 1e5) / (bits_per_s / 8e9));
    }
    EXPECT_LE(packets.bytes(), std::max(2 * Right(bits_per_s), size_t{64} << 10));
  });
}

TEST(PacketSizeTest, NeverExceedsWhatWasAskedFor) {
  for (double bits_per_s : {1e8, 1e9, 4e10}) {
    PacketSize packets(size_t{32} << 10);
    Link link(bits_per_s, 1e5);
    for (int i = 0; i < 1000; ++i) {
      link.Write(packets, double(packets.bytes()), 0);
      ASSERT_LE(packets.bytes(), size_t{32} << 10);
    }
  }
}

}  // namespace
}  // namespace commsched
