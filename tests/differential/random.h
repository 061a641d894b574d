// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers that are the same on every machine.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_RANDOM_H
#define COMMSCHED_TESTS_DIFFERENTIAL_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace commsched::differential {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  // SplitMix64.
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In 0 .. n-1; n > 0.
  int64_t below(int64_t n) { return int64_t(next() % uint64_t(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool oneIn(int64_t n) { return below(n) == 0; }
  // In [0, 1).
  double unit() { return double(next() >> 11) * 0x1p-53; }

  template <typename T>
  const T &pick(const std::vector<T> &of) {
    return of[size_t(below(int64_t(of.size())))];
  }
  template <typename T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[below(int64_t(of.size()))];
  }

private:
  uint64_t state;
};

// A seed for what has a name.
inline uint64_t mix(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (char c : name)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return Random(hash).next();
}
inline uint64_t mix(uint64_t seed, uint64_t index) {
  return Random(seed * 0xd1342543de82ef95 + index).next();
}

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_RANDOM_H
