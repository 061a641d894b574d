// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/sparse/float_types.h"
#include "ops/sparse/selection.h"

namespace commsched::ops::sparse {
namespace {

// A sample is of lines of so many neighbours, each from its own stretch of the
// array: they lie in one line of the cache.
constexpr int64_t kLine = 8;
constexpr int64_t kMinLines = 256, kMaxLines = 8192;
// Of smaller arrays no sample is taken: everything fits where hits are kept.
constexpr int64_t kMinSize = 16384;

constexpr int kBucketBits = 12;
constexpr size_t kBuckets = size_t{1} << kBucketBits;
// Hits that are counted before the scan goes on with a larger threshold.
constexpr size_t kAtOnce = 2048;

// Counts of the magnitudes of a part by their first bits; those that can no
// longer be among the first k are left out.
class Histogram {
 public:
  Histogram(Element element, int64_t k)
      : mask_(MagnitudeMask(element)),
        shift_(element == Element::kF32 ? 31 - kBucketBits : 15 - kBucketBits),
        k_(uint64_t(k)),
        counts_(kBuckets) {}

  void Count(const Hits &hits) {
    for (size_t i = 0; i < hits.count; ++i) {
      const size_t bucket = (hits.bits[i] & mask_) >> shift_;
      ++counts_[bucket];
      kept_ += bucket >= lowest_;
    }
    while (kept_ - counts_[lowest_] >= k_ && kept_ != 0)
      kept_ -= counts_[lowest_++];
  }
  // What is not larger does not matter.
  int32_t above() const { return int32_t(lowest_ << shift_) - 1; }

  // Adds another part's; `lowest` of the two is that of the whole then.
  void Add(const Histogram &other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    lowest_ = kBuckets;
    for (kept_ = 0; kept_ < k_ && lowest_ > 0;) kept_ += counts_[--lowest_];
  }

 private:
  const uint32_t mask_;
  const int shift_;
  const uint64_t k_;
  std::vector<uint64_t> counts_;
  size_t lowest_ = 0;  // the bucket of the k-th, as far as is known
  uint64_t kept_ = 0;  // in it and those above
};

// A larger sample costs time, a smaller one makes for more hits: with k of d
// elements and s in the sample, 4 sqrt(k d / s) more. The sum of both costs is
// least for an s that grows with the cube root of k d; twice that, because
// neighbours may be alike.
int64_t SampleLines(const TopKProblem &problem) {
  const double best = std::cbrt(25 * double(problem.k) * double(problem.size));
  return std::clamp(int64_t(2 * best) / kLine, kMinLines, kMaxLines);
}

}  // namespace

uint64_t Mix(uint64_t seed) {
  uint64_t z = seed + kMixStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

int64_t SampleSize(const TopKProblem &problem) {
  return problem.size < kMinSize ? 0 : SampleLines(problem) * kLine;
}

int32_t SampledThreshold(Selection *selection, double more) {
  const TopKProblem &problem = selection->problem();
  const int64_t sample = SampleSize(problem);
  if (sample == 0) return -1;
  const double expected =
      double(sample) * double(problem.k) / double(problem.size) * more;
  // Four standard deviations.
  const double rank = std::ceil(expected + 4 * std::sqrt(expected) + 4);
  if (rank >= double(sample)) return -1;
  const int64_t lines = SampleLines(problem);
  const int64_t stretch = problem.size / lines;
  uint32_t *magnitudes = selection->spare();
  WithFloat(problem.element, [&](auto f) {
    using F = decltype(f);
    using S = typename F::Storage;
    const bool add = selection->feedback() && !selection->added();
    const auto *x = static_cast<const S *>(add ? selection->buffers().input
                                               : selection->array());
    const auto *residual =
        static_cast<const S *>(selection->buffers().residual);
    // A place within its stretch that has nothing to do with its number, so
    // that no period of the array is met.
    const auto place = [&](int64_t line) {
      return line * stretch +
             int64_t(Mix(uint64_t(line)) % uint64_t(stretch - kLine + 1));
    };
    constexpr int64_t kAhead = 16;
    for (int64_t line = 0; line < lines; ++line) {
      if (line + kAhead < lines) {
        __builtin_prefetch(x + place(line + kAhead));
        if (add) __builtin_prefetch(residual + place(line + kAhead));
      }
      const int64_t at = place(line);
      for (int64_t i = at; i < at + kLine; ++i)
        *magnitudes++ =
            F::Bits(add ? F::Store(F::Load(residual[i]) + F::Load(x[i]))
                        : x[i]) &
            F::kMagnitude;
    }
  });
  return CutLargest(selection->spare(), size_t(sample), size_t(rank)).value - 1;
}

int32_t HistogramThreshold(Selection *selection) {
  const TopKProblem &problem = selection->problem();
  auto &parts = selection->parts();
  std::vector<Histogram> histograms(parts.size(),
                                    Histogram(problem.element, problem.k));
  selection->ForEachPart([&](size_t p) {
    ScanPart scan = parts[p].scan;
    if (selection->feedback()) scan.mode = ScanMode::kAdd;
    Hits hits = parts[p].hits;
    hits.capacity = std::min(hits.capacity, kAtOnce);
    for (size_t from = scan.begin; from != scan.end;) {
      hits.count = 0;
      from = Scan(scan, from, histograms[p].above(), &hits);
      histograms[p].Count(hits);
    }
  });
  if (selection->feedback()) selection->SetAdded();
  for (size_t p = 1; p < parts.size(); ++p) histograms[0].Add(histograms[p]);
  return histograms[0].above();
}

int32_t MagnitudeOf(Element element, double threshold) {
  if (threshold <= 0) return 0;
  return WithFloat(element, [&](auto f) {
    using F = decltype(f);
    const auto value = [](int32_t magnitude) {
      return double(F::Load(F::FromBits(uint32_t(magnitude))));
    };
    auto magnitude =
        int32_t(F::Bits(F::Store(float(threshold))) & F::kMagnitude);
    while (magnitude < F::kInfinity && value(magnitude) < threshold)
      ++magnitude;
    while (magnitude > 0 && value(magnitude - 1) >= threshold) --magnitude;
    return magnitude;
  });
}

}  // namespace commsched::ops::sparse
