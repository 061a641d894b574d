// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a trainer of half-asynchronous servers does with a block: it pushes the mean of
// what `merge` steps made, and pulls once for them. Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_MERGED_BLOCK_H
#define COMMSCHED_RUNTIME_CORE_MERGED_BLOCK_H

#include <algorithm>
#include <cstdint>
#include <utility>

namespace commsched::runtime::core {

class MergedBlock {
 public:
  // `first_step`: where the trainer begins.
  MergedBlock(uint64_t merge, uint64_t first_step) : merge_(merge), first_step_(first_step) {}

  // What step `step` made is added to the sum. Returns whether the mean is pushed now.
  bool Add(uint64_t step) {
    ++count_;
    return (step + 1) % merge_ == 0;
  }
  // What is in the sum, which is empty then.
  uint64_t Take() { return std::exchange(count_, 0); }
  uint64_t count() const { return count_; }

  // The version to ask the server for.
  uint64_t VersionFor(uint64_t version) const { return std::max(Merged(version), first_step_); }
  enum class Pull {
    kHere,   // what was pulled last will do
    kFetch,  // VersionFor(version) is to be pulled; Fetched follows
    kLater   // another one is under way: ask again after Fetched
  };
  Pull Ask(uint64_t version) {
    if (fetching_) return Pull::kLater;
    if (cached_ && version_ >= Merged(version)) return Pull::kHere;
    fetching_ = true;
    return Pull::kFetch;
  }
  void Fetched(uint64_t version, bool ok) {
    fetching_ = false;
    if (!ok) return;
    cached_ = true;
    version_ = Merged(version);
  }

 private:
  uint64_t Merged(uint64_t version) const { return version - version % merge_; }

  uint64_t merge_, first_step_;
  uint64_t count_ = 0;
  bool cached_ = false, fetching_ = false;
  uint64_t version_ = 0;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_MERGED_BLOCK_H
