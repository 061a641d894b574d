// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many random cases a property test tries. scripts/test.sh has a small budget;
// scripts/soak.sh gives other seeds and as many times the cases as it likes, by
// COMMSCHED_TEST_SEED (default 0) and COMMSCHED_TEST_TIMES (default 1).

#ifndef COMMSCHED_TESTS_CASES_H
#define COMMSCHED_TESTS_CASES_H

#include <cstdint>
#include <cstdlib>

namespace commsched {

struct Cases {
  uint32_t first, end; // seeds
  uint32_t count() const { return end - first; }
};

// `count` is the budget of scripts/test.sh.
inline Cases casesOf(uint32_t count) {
  auto number = [](const char *name, uint32_t otherwise) {
    const char *text = std::getenv(name);
    return text != nullptr ? uint32_t(std::strtoull(text, nullptr, 10)) : otherwise;
  };
  uint32_t first = number("COMMSCHED_TEST_SEED", 0);
  return {first, first + count * number("COMMSCHED_TEST_TIMES", 1)};
}

} // namespace commsched

#endif // COMMSCHED_TESTS_CASES_H
