// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_TESTS_FUZZ_RANDOM_H
#define COMMSCHED_TESTS_FUZZ_RANDOM_H

#include <cstddef>
#include <cstdint>

namespace commsched::fuzz {

// splitmix64: small, and the same everywhere, unlike std distributions.
class Random {
public:
  explicit Random(uint64_t state) : state(state) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n ? next() % n : 0; }
  template <typename T, size_t n>
  const T &of(const T (&all)[n]) { return all[below(n)]; }

private:
  uint64_t state;
};

} // namespace commsched::fuzz

#endif // COMMSCHED_TESTS_FUZZ_RANDOM_H
