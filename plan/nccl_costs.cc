// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/nccl_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace commsched::plan {
namespace {

enum Protocol {
  kLl,
  kLl128,
  kSimple,
  kProtocols
};
enum Algorithm {
  kTree,
  kRing,
  kAlgorithms
};

// Constants of NCCL's tuning for devices of compute capability 9.0. Microseconds; GB/s.
constexpr double kBase[kAlgorithms][kProtocols] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
struct Hop {
  double us[kAlgorithms][kProtocols];
};
constexpr Hop kNvlink = {{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}}};
constexpr Hop kPci = {{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}}};
constexpr Hop kNet = {{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}}};
// By one, two and more machines; of several, that of Intel's processors.
constexpr double kMostLl[] = {141.0, 39.0, 20.4};
// Of a channel.
constexpr double kMostRingLl128 = 36.7;
constexpr double kMostTreeLl128[] = {36.7, 36.7, 29.0};
constexpr double kMostTree[] = {38.7, 41.4, 36.0};
// A message's work at the network, which a step of a ring takes at least; Simple has three.
constexpr double kNetOverhead = 1.0;
constexpr double kPlateau = 1.4;  // of the latency of rings over the network, for long messages
// Of the rate of trees, by powers of two from 64 bytes on.
constexpr double kTreeFactor[kProtocols][23] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

// A cluster does not say so, NCCL finds it by a search: links faster than PCIe 5.0 with 16 lanes
// are NVLink, and a channel has up to 20 GB/s, of which there are 2 to 32.
constexpr double kFastestPci = 64.0;
constexpr double kOfChannel = 20.0;

int Log2(uint64_t value) { return int(std::bit_width(value)) - 1; }

struct Shape {
  double ranks, steps, channels, rate;
  int64_t machines, on_machine;  // of ranks, rounded down
  bool one_machine, nvlink, alone;
  int size() const { return machines <= 2 ? int(machines) - 1 : 2; }
};

// Bytes of the buffer in a nanosecond.
double RateOf(const Shape &shape, Algorithm algorithm, Protocol protocol) {
  double bus = shape.rate;
  if (algorithm == kRing) {
    if (protocol == kLl) bus = std::min(kMostLl[shape.size()], bus * .5);
    if (protocol == kLl128) bus = std::min(bus * .92, shape.channels * kMostRingLl128);
    return bus * shape.ranks / shape.steps;
  }
  bus = std::min(bus * .92, shape.channels * kMostTree[shape.size()]);
  if (protocol == kLl) bus = std::min(bus / 3.8, kMostLl[shape.size()]);
  if (protocol == kLl128)
    bus = std::min(bus * (shape.one_machine ? 7.0 / 9.0 : 120.0 / 128.0),
                   shape.channels * kMostTreeLl128[shape.size()]);
  return bus * .5;
}

double LatencyOf(const Shape &shape, Algorithm algorithm, Protocol protocol, double network) {
  const Hop &inside = shape.nvlink ? kNvlink : kPci;
  double intra = inside.us[algorithm][protocol];
  // Where every hop is one of the network, a ring's is as a tree's.
  double inter = kNet.us[shape.alone ? kTree : algorithm][protocol];
  inter += protocol == kSimple ? 2 * network : network;  // Simple flushes, too
  const double base = kBase[algorithm][protocol];
  if (algorithm == kTree)
    return base + 2 * (double(shape.on_machine - 1) * intra +
                       double(Log2(uint64_t(shape.machines))) * inter);
  if (!shape.one_machine)
    intra = std::max(intra, kNetOverhead * (protocol == kSimple ? 3 : 1));
  const double between =
      shape.steps / (shape.ranks - 1) * double(shape.machines - 1);
  return base + (shape.steps - between) * intra + between * inter;
}

}  // namespace

double NcclModelNs(const NcclMachines &of, NcclCall call, uint64_t bytes) {
  if (of.ranks <= 1) return 0;
  const bool all_reduce = call == NcclCall::kAllReduce;
  Shape shape;
  shape.ranks = double(of.ranks);
  shape.steps = double((of.ranks - 1) * (all_reduce ? 2 : 1));
  const int64_t together = std::clamp<int64_t>(of.machine_ranks, 1, of.ranks);
  shape.machines = (of.ranks + together - 1) / together;
  shape.on_machine = of.ranks / shape.machines;
  shape.one_machine = shape.machines == 1;
  shape.alone = shape.machines == of.ranks;
  const double intra = of.intra_mbit_per_s / 8000, inter = of.inter_mbit_per_s / 8000;
  shape.nvlink = intra > kFastestPci;
  // Rings between machines use the links of all their ranks.
  const double network = inter * double(together);
  shape.rate = shape.one_machine ? intra : shape.alone ? inter
                                                       : std::min(intra, network);
  shape.channels = std::clamp(std::ceil(shape.rate / kOfChannel), 2.0, 32.0);
  double best = 0;
  for (Algorithm algorithm : {kRing, kTree}) {
    if (algorithm == kTree && !all_reduce) continue;
    for (Protocol protocol : {kLl, kLl128, kSimple}) {
      if (protocol == kLl128 && !shape.nvlink && !shape.alone) continue;
      double rate = RateOf(shape, algorithm, protocol);
      double latency = LatencyOf(shape, algorithm, protocol, of.inter_latency_ns / 1000);
      if (const int size = Log2(bytes >> 6); algorithm == kTree && size >= 0 && size < 23)
        rate *= kTreeFactor[protocol][size];
      if (algorithm == kRing && protocol == kSimple && all_reduce && !shape.one_machine &&
          double(bytes) / (shape.channels * shape.ranks) >= 64)
        latency *= kPlateau;
      const double ns = latency * 1000 + double(bytes) / rate;
      if (best == 0 || ns < best) best = ns;
    }
  }
  return best;
}

NcclTimes::NcclTimes(std::vector<NcclPoint> points) {
  std::sort(points.begin(), points.end(), [](const NcclPoint &a, const NcclPoint &b) {
    return std::pair(a.bytes, a.ns) < std::pair(b.bytes, b.ns);
  });
  // Runs of points with one time, their mean.
  std::vector<std::pair<double, size_t>> runs;
  for (size_t i = 0, end; i < points.size(); i = end) {
    for (end = i; end < points.size() && points[end].bytes == points[i].bytes;) ++end;
    points_.push_back(points[i + (end - i - 1) / 2]);
    runs.emplace_back(points_.back().ns, 1);
    while (runs.size() > 1 && runs[runs.size() - 2].first > runs.back().first) {
      auto [ns, count] = runs.back();
      runs.pop_back();
      auto &[mean, all] = runs.back();
      mean = (mean * double(all) + ns * double(count)) / double(all + count);
      all += count;
    }
  }
  size_t at = 0;
  for (auto [ns, count] : runs)
    for (; count > 0; --count) points_[at++].ns = ns;
}

double NcclTimes::slope() const {
  const NcclPoint &last = points_.back();
  if (last.bytes == 0) return 0;
  const double rise = last.ns - points_.front().ns;
  return (rise > 0 ? rise : last.ns) / double(last.bytes);
}

double NcclTimes::At(uint64_t bytes) const {
  if (points_.empty()) return 0;
  auto above = std::lower_bound(points_.begin(), points_.end(), bytes,
                                [](const NcclPoint &p, uint64_t b) { return p.bytes < b; });
  if (above == points_.begin()) return above->ns;
  const NcclPoint &below = *std::prev(above);
  const double beyond = double(bytes - below.bytes);
  if (above == points_.end()) return below.ns + beyond * slope();
  return std::lerp(below.ns, above->ns, beyond / double(above->bytes - below.bytes));
}

NcclTimes::Line NcclTimes::LineBelow() const {
  if (points_.empty()) return {};
  Line line{points_.front().ns, slope()};
  for (const NcclPoint &p : points_)
    line.ns = std::min(line.ns, p.ns - double(p.bytes) * line.ns_per_byte);
  // All points may be about as high as the last one, whose slope is then that from nothing.
  if (line.ns < 0) line.ns = 0;
  for (const NcclPoint &p : points_)
    if (p.bytes != 0)
      line.ns_per_byte = std::min(line.ns_per_byte, (p.ns - line.ns) / double(p.bytes));
  return line;
}

NcclTimes NcclTimes::Scaled(double factor) const {
  NcclTimes scaled = *this;
  for (NcclPoint &p : scaled.points_) p.ns *= factor;
  return scaled;
}

NcclTimes NcclTimes::Whole() const {
  NcclTimes whole = *this;
  for (NcclPoint &point : whole.points_) point.ns = std::round(point.ns);
  return whole;
}

NcclCosts::NcclCosts(const NcclMachines &of) {
  constexpr int kMost = 36;  // beyond, a line is as good
  for (auto [times, call] : {std::pair(&all_reduce_, NcclCall::kAllReduce),
                             std::pair(&half_, NcclCall::kAllGather)}) {
    std::vector<NcclPoint> points;
    for (int i = 0; i <= kMost; ++i)
      points.push_back({uint64_t{1} << i, NcclModelNs(of, call, uint64_t{1} << i)});
    *times = NcclTimes(std::move(points));
  }
}

NcclCosts::NcclCosts(NcclTimes all_reduce)
    : all_reduce_(std::move(all_reduce)), half_(all_reduce_.Scaled(.5)) {}

}  // namespace commsched::plan
