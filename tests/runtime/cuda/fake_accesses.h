// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds accesses to the same bytes that nothing orders, with vector clocks: a clock says for each
// lane how many of its ops have ended before. Exact for what has run, in whatever order it ran: of
// two accesses that nothing orders, the one that runs later finds the other. (The algorithm of
// Lamport's clocks as race detectors have it; of each lane the last access to a byte is enough, as
// lanes are in order.)
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_ACCESSES_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_ACCESSES_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {

// Addresses begin .. end - 1.
struct Bytes {
  uint64_t begin = 0, end = 0;
};

class VectorClock {
 public:
  uint32_t of(uint32_t lane) const { return lane < ended_.size() ? ended_[lane] : 0; }
  uint32_t Tick(uint32_t lane) {
    if (lane >= ended_.size()) ended_.resize(lane + 1, 0);
    return ++ended_[lane];
  }
  void Merge(const VectorClock &other) {
    if (ended_.size() < other.ended_.size()) ended_.resize(other.ended_.size(), 0);
    for (size_t i = 0; i < other.ended_.size(); ++i)
      ended_[i] = std::max(ended_[i], other.ended_[i]);
  }

 private:
  std::vector<uint32_t> ended_;
};

class AccessLog {
 public:
  // An op of `lane`, its number `number` there, uses these bytes; `before` is what has ended when
  // it begins. Adds to `found` a line for each op that it races with.
  void Use(Bytes bytes, bool write, uint32_t lane, uint32_t number, const std::string &name,
           const VectorClock &before, std::vector<std::string> *found) {
    Split(bytes.begin);
    const auto end = Split(bytes.end);
    for (auto at = uses_.find(bytes.begin); at != end; ++at) {
      Last *own = nullptr;
      for (Last &last : at->second) {
        if (last.lane == lane && last.write == write) own = &last;
        if (last.lane == lane || !(write || last.write)) continue;
        if (before.of(last.lane) >= last.number) continue;
        std::string line =
            absl::StrCat("race: \"", name, "\" ", write ? "writes" : "reads", " what \"", last.name,
                         "\" ", last.write ? "writes" : "reads");
        if (std::find(found->begin(), found->end(), line) == found->end())
          found->push_back(std::move(line));
      }
      if (own == nullptr) own = &at->second.emplace_back();
      *own = {lane, number, write, name};
    }
  }

  // They are freed: whoever gets them next has to do with nobody before.
  void Forget(Bytes bytes) {
    Split(bytes.begin);
    const auto end = Split(bytes.end);
    for (auto at = uses_.find(bytes.begin); at != end; ++at) at->second.clear();
  }

 private:
  struct Last {
    uint32_t lane = 0, number = 0;
    bool write = false;
    std::string name;
  };
  using Uses = std::map<uint64_t, std::vector<Last>>;  // by the first byte; each up to the next

  Uses::iterator Split(uint64_t at) {
    auto after = uses_.upper_bound(at);
    if (after == uses_.begin()) return uses_.emplace_hint(after, at, std::vector<Last>{});
    auto before = std::prev(after);
    return before->first == at ? before : uses_.emplace_hint(after, at, before->second);
  }
  Uses uses_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_ACCESSES_H
