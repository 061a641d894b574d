// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <vector>

#include "ops/sparse/float_types.h"
#include "ops/sparse/selection.h"

namespace commsched::ops::sparse {
namespace {

struct MeanAndMax {
  double mean = 0;
  int32_t largest = 0;  // magnitude
};

MeanAndMax Measure(Selection *selection) {
  const TopKProblem &problem = selection->problem();
  const size_t size = size_t(problem.size);
  std::vector<MagnitudeSum> groups((size + kSumGroup - 1) / kSumGroup);
  selection->ForEachPart([&](size_t p) {
    for (size_t i = p; i < groups.size(); i += selection->parts().size())
      groups[i] =
          SumMagnitudes(problem.element, selection->array(), i * kSumGroup,
                        std::min((i + 1) * kSumGroup, size));
  });
  // Every 32nd group, then by halves: in the same order on a device.
  double sums[32] = {};
  MeanAndMax result;
  for (size_t i = 0; i < groups.size(); ++i) {
    sums[i % 32] += groups[i].sum;
    result.largest = std::max(result.largest, groups[i].largest);
  }
  for (size_t half = 16; half > 0; half /= 2)
    for (size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  result.mean = sums[0] / double(problem.size);
  return result;
}

int64_t CountFrom(Selection *selection, int32_t magnitude) {
  std::vector<size_t> counts(selection->parts().size());
  selection->ForEachPart([&](size_t p) {
    const ScanPart &scan = selection->parts()[p].scan;
    counts[p] = CountAbove(scan.element, selection->array(), scan.begin,
                           scan.end, magnitude - 1);
  });
  size_t count = 0;
  for (size_t c : counts) count += c;
  return int64_t(count);
}

}  // namespace

uint64_t SeedOfStep(uint64_t seed, int32_t step) {
  return seed + uint64_t(uint32_t(step)) * kMixStep;
}

bool RunMsTopK(Selection *selection) {
  const TopKProblem &problem = selection->problem();
  const Element element = problem.element;
  if (selection->feedback()) {
    selection->ForEachPart([&](size_t p) {
      Selection::Part &part = selection->parts()[p];
      ScanPart scan = part.scan;
      scan.mode = ScanMode::kAdd;
      Scan(scan, scan.begin, INT32_MAX, &part.hits);
    });
    selection->SetAdded();
  }
  if (problem.size == 0) return true;
  const MeanAndMax measured = Measure(selection);
  if (measured.largest > LargestFinite(element)) return false;
  if (problem.k == 0) return true;
  const double largest = WithFloat(element, [&](auto f) {
    using F = decltype(f);
    return double(F::Load(F::FromBits(uint32_t(measured.largest))));
  });
  // Magnitudes, and how many elements are not below them.
  int32_t high = INT32_MAX, low = 0;
  int64_t above_high = 0, above_low = problem.size;
  double left = 0, right = 1;
  for (int step = 0; step < problem.steps; ++step) {
    const double ratio = left + (right - left) / 2;
    const int32_t magnitude =
        MagnitudeOf(element, measured.mean + ratio * (largest - measured.mean));
    const int64_t count = CountFrom(selection, magnitude);
    if (count <= problem.k) {
      right = ratio;
      if (count > above_high) high = magnitude, above_high = count;
      if (count == problem.k && problem.stop_early) break;
    } else {
      left = ratio;
      if (count < above_low) low = magnitude, above_low = count;
    }
  }
  // Of those between the two the run [begin, begin + missing) is taken.
  const int64_t missing = problem.k - above_high;
  const int64_t between = above_low - above_high;
  const int64_t begin =
      int64_t(Mix(problem.seed) % uint64_t(between - missing + 1));
  if (missing == 0) low = high;
  int64_t seen = 0;
  const uint32_t mask = MagnitudeMask(element);
  for (Selection::Part &part : selection->parts()) {
    for (size_t from = part.scan.begin; from != part.scan.end;) {
      from = Scan(part.scan, from, low - 1, &part.hits);
      // What is taken goes to the front, what is not is put back.
      Hits &hits = part.hits;
      size_t taken = 0;
      const auto put_back = [&](size_t i) {
        WithFloat(element, [&](auto f) {
          using F = decltype(f);
          static_cast<typename F::Storage *>(
              part.scan.sum)[part.scan.begin + hits.at[i]] =
              F::FromBits(hits.bits[i]);
        });
      };
      for (size_t i = 0; i < hits.count; ++i) {
        bool take = int32_t(hits.bits[i] & mask) >= high;
        if (!take) {
          take = seen >= begin && seen < begin + missing;
          ++seen;
        }
        if (take) {
          hits.bits[taken] = hits.bits[i];
          hits.at[taken++] = hits.at[i];
        } else if (selection->feedback()) {
          put_back(i);
        }
      }
      hits.count = taken;
      selection->Write(part);
      hits.count = 0;
    }
  }
  return true;
}

}  // namespace commsched::ops::sparse
