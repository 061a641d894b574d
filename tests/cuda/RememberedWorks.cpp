// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/RememberedWorks.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cstring>

namespace commsched::cudatest {

using runtime::cuda::FakeWork;

// Works whose places depend on more than that are done each time.
static constexpr size_t kMostShapes = 4;

static llvm::ArrayRef<uint8_t> bytesAt(uint64_t begin, uint64_t count) {
  return {reinterpret_cast<const uint8_t *>(begin), count};
}

std::vector<RememberedWorks::Place> RememberedWorks::placesOf(const FakeWork &work, const std::vector<runtime::cuda::Bytes> &ranges,
                                                              const std::vector<size_t> &from) {
  std::vector<Place> places;
  for (size_t i = 0; i < ranges.size(); ++i)
    if (from[i] != FakeWork::kScratch)
      places.push_back({from[i], int64_t(ranges[i].begin - work.bases[from[i]]), ranges[i].end - ranges[i].begin});
  return places;
}

// Of all that the work reads or may leave as it is, and of where bytes are the same ones.
RememberedWorks::Hash RememberedWorks::hashOf(const FakeWork &work, const Shape &shape) {
  std::vector<uint64_t> words;
  std::vector<runtime::cuda::Bytes> all;
  for (const std::vector<Place> *places : {&shape.reads, &shape.writes}) {
    for (const Place &place : *places) {
      const uint64_t begin = work.bases[place.base] + uint64_t(place.offset);
      const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytesAt(begin, place.bytes));
      words.insert(words.end(), {hash.low64, hash.high64});
      for (size_t i = 0; i < all.size(); ++i)
        if (all[i].begin < begin + place.bytes && begin < all[i].end)
          words.insert(words.end(), {i, all.size(), begin - all[i].begin});
      all.push_back({begin, begin + place.bytes});
    }
  }
  const llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(bytesAt(reinterpret_cast<uintptr_t>(words.data()), words.size() * sizeof(uint64_t)));
  return {hash.low64, hash.high64};
}

std::string RememberedWorks::bytesOf(const FakeWork &work, const std::vector<Place> &places) {
  std::string result;
  for (const Place &place : places)
    result.append(reinterpret_cast<const char *>(work.bases[place.base] + uint64_t(place.offset)), place.bytes);
  return result;
}

void RememberedWorks::replay(FakeWork &work, const Shape &shape, const std::string &written) {
  if (options.again != 0 && random() % options.again == 0) {
    work.Run();
    if (first.empty() && bytesOf(work, shape.writes) != written)
      first = work.name + " (" + work.same + ") makes something else of the same bytes, in another order";
    return;
  }
  size_t at = 0;
  for (const Place &place : shape.writes) {
    std::memcpy(reinterpret_cast<char *>(work.bases[place.base] + uint64_t(place.offset)), written.data() + at, place.bytes);
    at += place.bytes;
  }
  if (!work.used)
    return;
  for (auto [places, ranges] : {std::pair(&shape.reads, &work.reads), std::pair(&shape.writes, &work.writes)}) {
    ranges->clear();
    for (const Place &place : *places) {
      const uint64_t begin = work.bases[place.base] + uint64_t(place.offset);
      ranges->push_back({begin, begin + place.bytes});
    }
  }
}

void RememberedWorks::run(FakeWork &work) {
  if (work.same.empty() || work.bases.empty())
    return work.Run();
  std::vector<Shape> &known = shapes[work.same];
  std::vector<Hash> before;
  for (const Shape &shape : known) {
    before.push_back(hashOf(work, shape));
    auto found = shape.written.find(before.back());
    if (found == shape.written.end())
      continue;
    ++hits;
    replay(work, shape, found->second);
    return;
  }
  ++misses;
  work.Run();
  Shape own{placesOf(work, work.reads, work.read_from), placesOf(work, work.writes, work.written_from), {}};
  auto at = std::find(known.begin(), known.end(), own);
  if (at == known.end()) {
    // What was there before is not known: the next time it is.
    if (known.size() < kMostShapes)
      known.push_back(std::move(own));
    return;
  }
  std::string written = bytesOf(work, at->writes);
  if (kept + written.size() > options.most)
    return;
  kept += written.size();
  at->written.emplace(before[size_t(at - known.begin())], std::move(written));
}

} // namespace commsched::cudatest
