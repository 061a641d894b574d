// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/simulator/model.h"

namespace commsched::runtime::simulator {
namespace {

// What a rank does in a round, or in all rounds of a fixed shape.
struct Step {
  int peer[2];   // sends to, receives from; -1: nobody
  int64_t code;  // of the shape, the numbers of parts, and the peers' identity
};

using Hash = std::pair<uint64_t, uint64_t>;

void Mix(Hash *hash, uint64_t value) {
  const auto mix = [](uint64_t h, uint64_t v, uint64_t by) {
    h = (h ^ v) * by;
    return h ^ (h >> 29);
  };
  hash->first = mix(hash->first, value, 0x9e3779b97f4a7c15u);
  hash->second = mix(hash->second, value + 0x632be59bd9b4e019u, 0xd6e8feb86659fd93u);
}

}  // namespace

absl::StatusOr<std::vector<int>> ClassesOfRanks(
    const std::vector<ExchangeShape> &shapes, const std::vector<int> &colours) {
  const int n = int(colours.size());
  // The number of steps is the same for all ranks.
  std::vector<Step> steps;
  size_t of_rank = 0;
  for (int r = 0; r < n; ++r) {
    absl::flat_hash_map<int, int> number;  // of a peer, in the order of use
    const auto identity = [&](int peer) {
      return peer < 0 ? 0 : 1 + number.try_emplace(peer, int(number.size())).first->second;
    };
    for (const ExchangeShape &shape : shapes) {
      const int64_t rounds = shape.fixed() ? std::min<int64_t>(1, shape.rounds())
                                           : shape.rounds();
      for (int64_t s = 0; s < rounds; ++s) {
        absl::StatusOr<Transfer> send = shape.Send(r, s);
        if (!send.ok()) return send.status();
        absl::StatusOr<Transfer> receive = shape.Receive(r, s);
        if (!receive.ok()) return receive.status();
        Hash hash{1, 2};
        for (const Transfer &t : {*send, *receive}) {
          Mix(&hash, uint64_t(t.count));
          Mix(&hash, uint64_t(identity(t.peer)));
        }
        steps.push_back({{send->peer, receive->peer}, int64_t(hash.first)});
      }
    }
    if (r == 0) of_rank = steps.size();
  }
  std::vector<int> classes = colours;
  size_t count = 0;
  for (;;) {
    absl::flat_hash_map<Hash, int> numbers;
    std::vector<int> next(static_cast<size_t>(n));
    for (int r = 0; r < n; ++r) {
      Hash hash{3, 4};
      Mix(&hash, uint64_t(classes[size_t(r)]));
      for (size_t i = size_t(r) * of_rank; i < size_t(r + 1) * of_rank; ++i) {
        Mix(&hash, uint64_t(steps[i].code));
        for (int peer : steps[i].peer)
          Mix(&hash, peer < 0 ? 0 : 1 + uint64_t(classes[size_t(peer)]));
      }
      next[size_t(r)] = numbers.try_emplace(hash, int(numbers.size())).first->second;
    }
    classes = std::move(next);
    if (numbers.size() == count) return classes;
    count = numbers.size();
  }
}

}  // namespace commsched::runtime::simulator
