// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What works of a FakeMachine did, so that what has been done to the same bytes need not be done again: a step that
// runs in a hundred orders does the same each time, if it is right. Where it is not, bytes differ, and the work
// is done.

#ifndef COMMSCHED_TESTS_CUDA_REMEMBEREDWORKS_H
#define COMMSCHED_TESTS_CUDA_REMEMBEREDWORKS_H

#include "tests/runtime/cuda/fake_machine.h"

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace commsched::cudatest {

class RememberedWorks {
public:
  struct Options {
    size_t most = size_t(6) << 30; ///< bytes that are kept; what comes later is done each time
    unsigned again = 50;           ///< of so many works that are known one is done, and must write the same; 0: none
  };
  explicit RememberedWorks(Options options) : options(options) {}

  /// For FakeMachine::SetRunner.
  void run(runtime::cuda::FakeWork &work);

  /// A work that did something else on the same bytes; the first, or nothing.
  const std::string &fault() const { return first; }
  uint64_t known() const { return hits; } ///< works that had been done
  uint64_t done() const { return misses; }
  size_t bytes() const { return kept; }

private:
  using Hash = std::pair<uint64_t, uint64_t>;
  /// Bytes that a work uses, from one of its bases on.
  struct Place {
    size_t base = 0;
    int64_t offset = 0;
    uint64_t bytes = 0;
    bool operator==(const Place &) const = default;
  };
  /// What works of one description use. It may depend on what they read.
  struct Shape {
    std::vector<Place> reads, writes;
    std::map<Hash, std::string> written; ///< by all that was there before: what was there then
    bool operator==(const Shape &other) const { return reads == other.reads && writes == other.writes; }
  };

  static std::vector<Place> placesOf(const runtime::cuda::FakeWork &work, const std::vector<runtime::cuda::Bytes> &ranges,
                                     const std::vector<size_t> &from);
  static Hash hashOf(const runtime::cuda::FakeWork &work, const Shape &shape);
  static std::string bytesOf(const runtime::cuda::FakeWork &work, const std::vector<Place> &places);
  void replay(runtime::cuda::FakeWork &work, const Shape &shape, const std::string &written);

  const Options options;
  std::map<std::string, std::vector<Shape>> shapes;
  std::mt19937_64 random;
  std::string first;
  uint64_t hits = 0, misses = 0;
  size_t kept = 0;
};

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_REMEMBEREDWORKS_H
