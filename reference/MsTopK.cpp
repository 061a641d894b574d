// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/MsTopK.h"

#include <cmath>

using namespace commsched::reference;

namespace {

/// A number and how far off it may be.
struct About {
  double value = 0, doubt = 0;
};

/// Elements that pass a threshold, not being below it: as computed, at least, and at most.
struct Passing {
  int64_t found = 0, least = 0, most = 0;
};

Passing countFrom(const std::vector<Scalar> &entries, const About &threshold) {
  Passing count;
  for (const Scalar &entry : entries) {
    double above = std::fabs(entry.value) - threshold.value;
    double doubt = entry.bound + threshold.doubt;
    count.found += above >= 0;
    count.least += doubt == 0 ? above >= 0 : above > doubt;
    count.most += above >= -doubt;
  }
  return count;
}

/// Number `step` of SplitMix64 (S. Vigna), begun with `seed`.
uint64_t splitMix64(uint64_t seed, int32_t step) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  uint64_t z = seed + (uint64_t(uint32_t(step)) + 1) * kGolden;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace

std::vector<int64_t> commsched::reference::selectMsTopK(const std::vector<Scalar> &entries,
                                                        int64_t k, const MsTopKDraw &draw,
                                                        bool &settled) {
  auto size = static_cast<int64_t>(entries.size());
  About sum, largest;
  for (const Scalar &entry : entries) {
    sum.value += std::fabs(entry.value);
    sum.doubt += entry.bound;
    largest.value = std::max(largest.value, std::fabs(entry.value));
    largest.doubt = std::max(largest.doubt, entry.bound);
  }
  // In any order: each of the additions, and what follows, is rounded.
  double rounding = std::ldexp(static_cast<double>(size) + 8, -52);
  About mean{sum.value / static_cast<double>(size),
             sum.doubt / static_cast<double>(size) +
                 rounding * sum.value / static_cast<double>(size)};
  settled = true;
  double left = 0, right = 1;
  // Of thresholds that leave k or fewer, and more than k, the last ones of each are
  // the closest: a lower threshold never leaves fewer.
  About high{std::numeric_limits<double>::infinity(), 0}, low{0, 0};
  for (int64_t sample = 0; sample < draw.samples; ++sample) {
    double ratio = left + (right - left) / 2;
    About threshold{mean.value + ratio * (largest.value - mean.value),
                    mean.doubt + largest.doubt + rounding * largest.value};
    Passing count = countFrom(entries, threshold);
    if (count.least == k && count.most == k) {
      // Whatever is read later, these are the first set.
      high = low = threshold;
      break;
    }
    settled &= count.least > k || count.most <= k;
    if (count.found <= k) {
      right = ratio;
      if (count.found > 0)
        high = threshold;
    } else {
      left = ratio;
      low = threshold;
    }
  }
  Passing first = countFrom(entries, high), both = countFrom(entries, low);
  settled &= first.least == first.most && both.least == both.most;
  int64_t missing = k - first.found, between = both.found - first.found;
  int64_t begin = 0;
  if (missing > 0)
    begin = static_cast<int64_t>(splitMix64(draw.seed, draw.step) %
                                 static_cast<uint64_t>(between - missing + 1));
  std::vector<int64_t> chosen;
  int64_t seen = 0;
  for (int64_t e = 0; e < size; ++e) {
    double magnitude = std::fabs(entries[e].value);
    bool take = magnitude >= high.value;
    if (!take && missing > 0 && magnitude >= low.value) {
      take = seen >= begin && seen < begin + missing;
      ++seen;
    }
    if (take)
      chosen.push_back(e);
  }
  return chosen;
}
