// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/selection.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "ops/sparse/float_types.h"

namespace commsched::ops::sparse {
namespace {

// Places of a part are counted in 32 bits.
constexpr int64_t kMaxPart = int64_t{1} << 31;
// What a thread is not worth starting for.
constexpr int64_t kMinPart = 1 << 16;
// Parts begin at a multiple of so many elements.
constexpr int64_t kPartAlignment = 64;
// Hits of a part beyond twice k, so that a small k does not mean that its k
// first are looked for again and again.
constexpr int64_t kMoreHits = 8192;

int64_t PartCount(const TopKProblem &problem) {
  const int64_t least = (problem.size + kMaxPart - 1) / kMaxPart;
  return std::max<int64_t>(
      {1, least, std::min<int64_t>(problem.threads, problem.size / kMinPart)});
}
int64_t PartBegin(const TopKProblem &problem, int64_t p, int64_t parts) {
  if (p == parts) return problem.size;
  return problem.size / kPartAlignment / parts * p * kPartAlignment;
}
size_t HitCapacity(const TopKProblem &problem, int64_t part_size) {
  return size_t(std::min(2 * problem.k + kMoreHits, part_size)) + 2 * kScanRoom;
}
// Of all parts.
size_t HitCapacity(const TopKProblem &problem) {
  const int64_t parts = PartCount(problem);
  size_t capacity = 0;
  for (int64_t p = 0; p < parts; ++p)
    capacity += HitCapacity(problem, PartBegin(problem, p + 1, parts) -
                                         PartBegin(problem, p, parts));
  return capacity;
}

}  // namespace

uint32_t MagnitudeMask(Element element) {
  return WithFloat(element, [](auto f) { return decltype(f)::kMagnitude; });
}
int32_t LargestFinite(Element element) {
  return WithFloat(element, [](auto f) { return decltype(f)::kInfinity - 1; });
}

Cut CutLargest(uint32_t *numbers, size_t n, size_t k) {
  constexpr int kBucketBits = 11;
  constexpr size_t kBuckets = size_t{1} << kBucketBits;
  // The range that the number lies in is cut into buckets; those in its bucket
  // stay.
  while (n > 512) {
    int32_t least = INT32_MAX, most = 0;
    for (size_t i = 0; i < n; ++i) {
      least = std::min(least, int32_t(numbers[i]));
      most = std::max(most, int32_t(numbers[i]));
    }
    const uint32_t low = uint32_t(least);
    const int shift =
        std::max(0, int(std::bit_width(uint32_t(most) - low)) - kBucketBits);
    // Two, so that equal neighbours need not wait for each other.
    uint32_t counts[2][kBuckets] = {};
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
      ++counts[0][(numbers[i] - low) >> shift];
      ++counts[1][(numbers[i + 1] - low) >> shift];
    }
    if (i < n) ++counts[0][(numbers[i] - low) >> shift];
    size_t bucket = kBuckets, in = 0;
    do {
      k -= in;
      --bucket;
      in = counts[0][bucket] + counts[1][bucket];
    } while (in < k);
    if (shift == 0) return {int32_t(low + bucket), k};
    size_t kept = 0;
    for (i = 0; i < n; ++i) {
      const uint32_t number = numbers[i];
      numbers[kept] = number;
      kept += ((number - low) >> shift) == bucket;
    }
    n = kept;
  }
  std::nth_element(numbers, numbers + (k - 1), numbers + n,
                   std::greater<uint32_t>());
  const uint32_t value = numbers[k - 1];
  const auto above = std::count_if(numbers, numbers + k,
                                   [value](uint32_t v) { return v > value; });
  return {int32_t(value), k - size_t(above)};
}

Selection::Selection(const TopKProblem &problem, const TopKBuffers &buffers,
                     const ParallelFor &parallel)
    : problem_(problem), buffers_(buffers), parallel_(parallel) {
  const int64_t parts = PartCount(problem);
  parts_.resize(size_t(parts));
  auto *hits = static_cast<uint32_t *>(buffers.scratch);
  spare_ = hits + 2 * HitCapacity(problem);
  uint32_t *spare = spare_;
  for (int64_t p = 0; p < parts; ++p) {
    Part &part = parts_[size_t(p)];
    part.scan.element = problem.element;
    part.scan.mode = feedback() ? ScanMode::kAddClear : ScanMode::kRead;
    part.scan.x = buffers.input;
    part.scan.residual = buffers.residual;
    part.scan.sum = buffers.new_residual;
    part.scan.begin = size_t(PartBegin(problem, p, parts));
    part.scan.end = size_t(PartBegin(problem, p + 1, parts));
    const size_t capacity =
        HitCapacity(problem, int64_t(part.scan.end - part.scan.begin));
    part.hits = {hits, hits + capacity, 0, capacity};
    part.spare = spare;
    hits += 2 * capacity;
    spare += capacity;
  }
}

size_t Selection::ScratchBytes(const TopKProblem &problem) {
  const size_t capacity = HitCapacity(problem);
  return (2 * capacity + std::max(capacity, size_t(SampleSize(problem)))) *
         sizeof(uint32_t);
}

void Selection::ForEachPart(const std::function<void(size_t)> &task) {
  const int parts = int(parts_.size());
  if (problem_.threads == 1 || parts == 1) {
    for (int p = 0; p < parts; ++p) task(size_t(p));
  } else if (parallel_ != nullptr) {
    parallel_(parts, [&](int p) { task(size_t(p)); });
  } else {
    std::vector<std::thread> threads;
    const int n = std::min(problem_.threads, parts);
    const auto run = [&](int first) {
      for (int p = first; p < parts; p += n) task(size_t(p));
    };
    for (int t = 1; t < n; ++t) threads.emplace_back(run, t);
    run(0);
    for (std::thread &thread : threads) thread.join();
  }
}

void Selection::SetAdded() {
  added_ = true;
  for (Part &part : parts_) part.scan.mode = ScanMode::kClear;
}

void Selection::PutBack(Part *part) {
  const Hits &hits = part->hits;
  if (feedback())
    WithFloat(problem_.element, [&](auto f) {
      using F = decltype(f);
      auto *sum = static_cast<typename F::Storage *>(buffers_.new_residual) +
                  part->scan.begin;
      for (size_t i = 0; i < hits.count; ++i)
        sum[hits.at[i]] = F::FromBits(hits.bits[i]);
    });
  part->hits.count = 0;
}

void Selection::PutBack() {
  for (Part &part : parts_) PutBack(&part);
}

void Selection::Keep(Part *part, Cut *cut) {
  Hits &hits = part->hits;
  const uint32_t mask = MagnitudeMask(problem_.element);
  if (feedback()) {
    size_t others = 0, ties = cut->ties;
    for (size_t i = 0; i < hits.count; ++i) {
      const int32_t magnitude = int32_t(hits.bits[i] & mask);
      const bool tie = (magnitude == cut->value) & (ties > 0);
      ties -= tie;
      part->spare[others] = uint32_t(i);
      others += !(tie | (magnitude > cut->value));
    }
    WithFloat(problem_.element, [&](auto f) {
      using F = decltype(f);
      auto *sum = static_cast<typename F::Storage *>(buffers_.new_residual) +
                  part->scan.begin;
      for (size_t j = 0; j < others; ++j)
        sum[hits.at[part->spare[j]]] = F::FromBits(hits.bits[part->spare[j]]);
    });
  }
  size_t kept = 0;
  for (size_t i = 0; i < hits.count; ++i) {
    const int32_t magnitude = int32_t(hits.bits[i] & mask);
    const bool tie = (magnitude == cut->value) & (cut->ties > 0);
    cut->ties -= tie;
    hits.bits[kept] = hits.bits[i];
    hits.at[kept] = hits.at[i];
    kept += tie | (magnitude > cut->value);
  }
  hits.count = kept;
}

int32_t Selection::KeepFirst(Part *part) {
  Hits &hits = part->hits;
  const uint32_t mask = MagnitudeMask(problem_.element);
  int32_t largest = 0;
  for (size_t i = 0; i < hits.count; ++i) {
    part->spare[i] = hits.bits[i] & mask;
    largest = std::max(largest, int32_t(part->spare[i]));
  }
  if (largest > LargestFinite(problem_.element)) {
    part->non_finite = true;
    PutBack(part);
    return INT32_MAX;
  }
  const size_t k = size_t(problem_.k);
  if (hits.count <= k) return -1;
  Cut cut = CutLargest(part->spare, hits.count, k);
  Keep(part, &cut);
  return cut.value;
}

void Selection::FindInPart(Part *part, int32_t above) {
  size_t from = part->scan.begin;
  while (true) {
    from = Scan(part->scan, from, above, &part->hits);
    if (from == part->scan.end) break;
    // Once more than k are known, only larger ones are of interest: of equal
    // ones, those before come first.
    above = std::max(above, KeepFirst(part));
  }
  int32_t largest = 0;
  const uint32_t mask = MagnitudeMask(problem_.element);
  for (size_t i = 0; i < part->hits.count; ++i)
    largest = std::max(largest, int32_t(part->hits.bits[i] & mask));
  if (largest > LargestFinite(problem_.element)) part->non_finite = true;
}

int64_t Selection::Find(int32_t above) {
  // What is not finite is always found.
  above = std::min(above, LargestFinite(problem_.element));
  ForEachPart([&](size_t p) { FindInPart(&parts_[p], above); });
  if (feedback()) SetAdded();
  int64_t found = 0;
  bool non_finite = false;
  for (const Part &part : parts_) {
    found += int64_t(part.hits.count);
    non_finite = non_finite || part.non_finite;
  }
  if (!non_finite) return found;
  PutBack();
  return -1;
}

void Selection::Write(const Part &part) {
  const size_t count = part.hits.count;
  WithFloat(problem_.element, [&](auto f) {
    using F = decltype(f);
    auto *values =
        static_cast<typename F::Storage *>(buffers_.values) + written_;
    for (size_t i = 0; i < count; ++i)
      values[i] = F::FromBits(part.hits.bits[i]);
  });
  WithIndex(problem_.index, [&](auto index) {
    using Index = decltype(index);
    auto *indices = static_cast<Index *>(buffers_.indices) + written_;
    for (size_t i = 0; i < count; ++i)
      indices[i] = Index(part.scan.begin + part.hits.at[i]);
  });
  written_ += int64_t(count);
}

void Selection::WriteFirst(int64_t n) {
  const uint32_t mask = MagnitudeMask(problem_.element);
  size_t found = 0;
  for (const Part &part : parts_) found += part.hits.count;
  Cut cut;
  const bool all = found == size_t(n);
  if (!all && n > 0) {
    size_t copied = 0;
    for (const Part &part : parts_)
      for (size_t i = 0; i < part.hits.count; ++i)
        spare_[copied++] = part.hits.bits[i] & mask;
    cut = CutLargest(spare_, found, size_t(n));
  }
  for (Part &part : parts_) {
    if (n == 0) PutBack(&part);
    if (!all) Keep(&part, &cut);
    Write(part);
  }
}

void Selection::WritePadding() {
  const int64_t left = problem_.k - written_;
  const size_t bytes = ElementBytes(problem_.element);
  std::memset(
      static_cast<std::byte *>(buffers_.values) + size_t(written_) * bytes, 0,
      size_t(left) * bytes);
  WithIndex(problem_.index, [&](auto index) {
    auto *indices = static_cast<decltype(index) *>(buffers_.indices) + written_;
    std::fill_n(indices, left, decltype(index)(-1));
  });
}

NonFinite Selection::CountNonFinite() {
  const int32_t above = LargestFinite(problem_.element);
  NonFinite found;
  std::vector<int64_t> counts(parts_.size());
  ForEachPart([&](size_t p) {
    const ScanPart &scan = parts_[p].scan;
    counts[p] = int64_t(
        CountAbove(problem_.element, array(), scan.begin, scan.end, above));
  });
  for (size_t p = parts_.size(); p-- > 0;) {
    found.count += counts[p];
    if (counts[p] == 0) continue;
    ScanPart scan = parts_[p].scan;
    scan.mode = ScanMode::kRead;
    scan.x = array();
    parts_[p].hits.count = 0;
    Scan(scan, scan.begin, above, &parts_[p].hits);
    found.first = int64_t(scan.begin + parts_[p].hits.at[0]);
  }
  return found;
}

}  // namespace commsched::ops::sparse
