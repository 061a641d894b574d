// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of NCCL's collectives: what must hold of the model whatever the cluster, and of times that
// were measured.
#include "plan/nccl_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/cases.h"

namespace commsched::plan {
namespace {

NcclMachines Drawn(std::mt19937 &random) {
  NcclMachines of;
  of.ranks = 2 + int64_t(random() % 63);
  of.machine_ranks = 1 + int64_t(random() % 8);
  of.intra_mbit_per_s = std::exp2(12 + double(random() % 1000) / 100);
  of.inter_mbit_per_s = std::exp2(10 + double(random() % 1000) / 100);
  of.inter_latency_ns = double(random() % 60000);
  return of;
}

constexpr NcclCall kCalls[] = {NcclCall::kAllReduce, NcclCall::kReduceScatter,
                               NcclCall::kAllGather};

TEST(NcclModel, IsNeverFasterThanTheBytesOnTheSlowestLink) {
  for (auto [seed, end, _] = std::tuple(casesOf(400).first, casesOf(400).end, 0); seed < end;
       ++seed) {
    std::mt19937 random(seed);
    const NcclMachines of = Drawn(random);
    const uint64_t bytes = random() % (uint64_t{1} << (1 + random() % 32));
    const double n = double(of.ranks);
    const int64_t together = std::min(of.machine_ranks, of.ranks);
    double rate = of.intra_mbit_per_s;
    if (together == 1)
      rate = of.inter_mbit_per_s;
    else if (together < of.ranks)
      rate = std::min(rate, of.inter_mbit_per_s * double(together));
    for (NcclCall call : kCalls) {
      const double halves = call == NcclCall::kAllReduce ? 2 : 1;
      // A tree of two ranks sends what a ring sends; of more, a ring is the least but that trees
      // are taken for half of a bus, which is less than a ring's 2 (n - 1) / n by 1 / n.
      const double least = halves * std::min((n - 1) / n, 1.0) * double(bytes) * 8000 / rate;
      EXPECT_GE(NcclModelNs(of, call, bytes), least) << "seed " << seed;
    }
  }
}

TEST(NcclModel, LongCallsTakeTheirBytes) {
  for (uint32_t seed = casesOf(200).first; seed < casesOf(200).end; ++seed) {
    std::mt19937 random(seed);
    NcclMachines of = Drawn(random);
    of.machine_ranks = of.ranks;
    const double n = double(of.ranks);
    const uint64_t bytes = uint64_t{1} << 46;
    const double wire = 2 * (n - 1) / n * double(bytes) * 8000 / of.intra_mbit_per_s;
    EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllReduce, bytes) / wire, 1, 1e-3) << "seed " << seed;
    EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllGather, bytes) / wire, .5, 1e-3) << "seed " << seed;
  }
}

TEST(NcclModel, SlowerLinksAndMoreRanksAreNotFaster) {
  for (uint32_t seed = casesOf(400).first; seed < casesOf(400).end; ++seed) {
    std::mt19937 random(seed);
    const NcclMachines of = Drawn(random);
    const uint64_t bytes = random() % (uint64_t{1} << (1 + random() % 32));
    NcclMachines late = of, slow = of;
    late.inter_latency_ns += 1 + double(random() % 50000);
    // The kind of link inside, and so the constants, stays.
    slow.inter_mbit_per_s /= 1 + double(random() % 100) / 10;
    for (NcclCall call : kCalls) {
      const double ns = NcclModelNs(of, call, bytes);
      EXPECT_GT(ns, 0);
      EXPECT_GE(NcclModelNs(late, call, bytes), ns) << "seed " << seed;
      EXPECT_GE(NcclModelNs(slow, call, bytes), ns) << "seed " << seed;
    }
    EXPECT_EQ(NcclModelNs(of, NcclCall::kAllGather, bytes),
              NcclModelNs(of, NcclCall::kReduceScatter, bytes));
    NcclMachines alone = of;
    alone.ranks = 1;
    EXPECT_EQ(NcclModelNs(alone, NcclCall::kAllReduce, bytes), 0);
  }
}

// By hand from the tables of src/graph/tuning.cc.
TEST(NcclModel, ShortCallsTakeTheLatencyOfTheBestAlgorithm) {
  NcclMachines of;
  of.ranks = of.machine_ranks = 8;
  of.intra_mbit_per_s = 8 * 360e3;
  of.inter_mbit_per_s = 8 * 50e3;
  // A ring of LL: 6.6 + 14 * 0.6; a tree: 6.8 + 2 * 7 * 0.6.
  EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllReduce, 0), 15000, 1e-6);
  EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllGather, 0), 6600 + 7 * 600, 1e-6);
  of.intra_mbit_per_s = 8 * 20e3;  // PCI
  EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllReduce, 0), 20600, 1e-6);
  // 4 machines of 8: a tree of LL, 6.8 + 2 (7 * 0.6 + 2 * (5 + 3)); a ring has 6 steps between
  // machines.
  of.ranks = 32;
  of.intra_mbit_per_s = 8 * 360e3;
  of.inter_latency_ns = 3000;
  EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllReduce, 0), 47200, 1e-6);
  // A ring of LL: 6.6 + 28 steps of at least the network's 1 us inside, 3 of 2.7 + 3 between.
  EXPECT_NEAR(NcclModelNs(of, NcclCall::kAllGather, 0), 6600 + 28 * 1000 + 3 * 5700, 1e-6);
}

// Times of increasing sizes that do not fall, with noise of `noise` of each.
struct Measured {
  std::vector<NcclPoint> truth, points;
};
Measured DrawnTimes(std::mt19937 &random, double noise) {
  Measured m;
  std::uniform_real_distribution<double> unit(0, 1);
  double ns = 1000 + 30000 * unit(random);
  uint64_t bytes = 1 + random() % 64;
  for (size_t i = 0, n = 2 + random() % 30; i < n; ++i) {
    m.truth.push_back({bytes, ns});
    m.points.push_back({bytes, ns * (1 + noise * (2 * unit(random) - 1))});
    bytes += 1 + random() % (bytes * 2);
    if (random() % 3 != 0) ns *= 1 + 2 * unit(random);
  }
  return m;
}

// Least squares that do not fall keep relative errors: no mean of neighbours is further off.
TEST(NcclTimes, NoiseIsNotMadeLarger) {
  constexpr double kNoise = .2;
  for (uint32_t seed = casesOf(400).first; seed < casesOf(400).end; ++seed) {
    std::mt19937 random(seed);
    Measured m = DrawnTimes(random, kNoise);
    std::shuffle(m.points.begin(), m.points.end(), random);
    const NcclTimes times(m.points);
    double before = 0;
    for (const NcclPoint &p : m.truth) {
      EXPECT_NEAR(times.At(p.bytes), p.ns, p.ns * kNoise * (1 + 1e-9)) << "seed " << seed;
      EXPECT_GE(times.At(p.bytes), before);
      before = times.At(p.bytes);
    }
  }
}

TEST(NcclTimes, NeverFallAndMeetTheirPoints) {
  for (uint32_t seed = casesOf(400).first; seed < casesOf(400).end; ++seed) {
    std::mt19937 random(seed);
    const Measured m = DrawnTimes(random, 0);
    const NcclTimes times(m.points);
    for (const NcclPoint &p : m.points) EXPECT_DOUBLE_EQ(times.At(p.bytes), p.ns);
    const NcclTimes::Line line = times.LineBelow();
    EXPECT_GE(line.ns, 0);
    EXPECT_GT(line.ns_per_byte, 0);
    std::vector<uint64_t> sizes;
    for (int i = 0; i < 100; ++i) sizes.push_back(random() % (m.points.back().bytes * 4));
    std::sort(sizes.begin(), sizes.end());
    double before = 0;
    for (uint64_t bytes : sizes) {
      const double ns = times.At(bytes);
      EXPECT_GE(ns, before) << "seed " << seed;
      EXPECT_GE(ns * (1 + 1e-9), line.ns + line.ns_per_byte * double(bytes)) << "seed " << seed;
      EXPECT_DOUBLE_EQ(times.Scaled(.5).At(bytes), ns / 2);
      before = ns;
    }
  }
}

TEST(NcclTimes, OfOneSizeTheMedianCounts) {
  EXPECT_EQ(NcclTimes({{8, 5}, {8, 100}, {8, 7}}).At(8), 7);
  EXPECT_EQ(NcclTimes({{8, 5}, {8, 7}}).At(8), 5);
  EXPECT_EQ(NcclTimes().At(8), 0);
}

TEST(NcclCosts, ModelAtPowersOfTwoNeverFalls) {
  for (uint32_t seed = casesOf(100).first; seed < casesOf(100).end; ++seed) {
    std::mt19937 random(seed);
    const NcclMachines of = Drawn(random);
    const NcclCosts costs(of);
    for (NcclCall call : kCalls) {
      double before = 0;
      for (uint64_t bytes = 1; bytes < uint64_t{1} << 40; bytes += 1 + bytes / 3) {
        EXPECT_GE(costs.Ns(call, bytes), before) << "seed " << seed;
        before = costs.Ns(call, bytes);
      }
      // Where the model does not fall itself, it is met: a call of no work, and long ones.
      EXPECT_LE(costs.Ns(call, 1), NcclModelNs(of, call, 1) * (1 + 1e-9));
      EXPECT_NEAR(costs.Ns(call, uint64_t{1} << 36) / NcclModelNs(of, call, uint64_t{1} << 36), 1,
                  1e-6);
    }
  }
}

}  // namespace
}  // namespace commsched::plan
