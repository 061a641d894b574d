// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/calibration/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace commsched::calibration {
namespace {

// A link of a known rate and latency behind a processor that works on each message before it is
// sent, beside the wire: a message costs the link's time, or the processor's if that is longer.
class Link final : public Source {
 public:
  double bytes_per_ns = 0.125;
  double latency_ns = 0, work_ns = 0;

  absl::StatusOr<std::vector<int64_t>> Ask(size_t count, size_t bytes) override {
    std::vector<int64_t> at;
    double worked = latency_ns, sent = 0;  // the question takes a latency
    while (at.size() < count) {
      worked += work_ns;
      sent = std::max(worked, sent) + double(bytes) / bytes_per_ns;
      at.push_back(std::llround(sent + latency_ns));
    }
    return at;
  }
};

TEST(MeasureTest, OverheadIsWhatABusyLinkDoesNotHide) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](double least, double most) {
      return std::exp(std::uniform_real_distribution<>(std::log(least), std::log(most))(random));
    };
    Link link;
    link.bytes_per_ns = draw(0.01, 12.5);  // 80 Mbit/s to 100 Gbit/s
    link.latency_ns = draw(1e3, 1e6);
    link.work_ns = draw(1e2, 1e5);
    auto cost = MeasureLink(&link);
    ASSERT_TRUE(cost.ok()) << cost.status();
    const double large = double(1 << 20) / link.bytes_per_ns, piece = large / 16;
    const double rate = 8e9 * double(1 << 20) / std::max(large, link.work_ns);
    EXPECT_NEAR(double(cost->bits_per_second), rate, 1e-3 * rate);
    // Of pieces of 64 KiB; no more than the work.
    const double overhead = std::max(0.0, std::max(piece, link.work_ns) - 8e9 * double(64 << 10) / rate);
    EXPECT_NEAR(double(cost->overhead_ns), overhead, 3 + 1e-3 * (piece + link.work_ns));
    EXPECT_LE(cost->overhead_ns, link.work_ns + 3 + 1e-3 * piece);
  }
}

}  // namespace
}  // namespace commsched::calibration
