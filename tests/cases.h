// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many random cases a property test tries (tests/cases.py for those of Python).
// A test names its budget; scripts/test.sh tries fewer, scripts/soak.sh gives other seeds and
// more cases, by COMMSCHED_TEST_SEED (default 0) and COMMSCHED_TEST_TIMES
// (default 1; less leaves one case at least).

#ifndef COMMSCHED_TESTS_CASES_H
#define COMMSCHED_TESTS_CASES_H

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace commsched {

struct Cases {
  uint32_t first, end; // seeds
  uint32_t count() const { return end - first; }
};

// The environment variable `name`; what is not as `must` says ends the program.
template <typename Number, typename Good, typename... Format>
Number numberOfEnvironment(const char *name, Number otherwise, const char *must, Good good, Format... format) {
  const char *text = std::getenv(name);
  if (text == nullptr)
    return otherwise;
  Number value{};
  const char *end = text + std::strlen(text);
  const std::from_chars_result read = std::from_chars(text, end, value, format...);
  if (read.ec == std::errc() && read.ptr == end && good(value))
    return value;
  std::fprintf(stderr, "error: %s must be %s, got: '%s'\n", name, must, text);
  std::_Exit(1);
}

inline Cases casesOf(uint32_t budget) {
  const auto first = numberOfEnvironment<uint32_t>(
      "COMMSCHED_TEST_SEED", 0, "a whole number below 2^31", [](uint32_t seed) { return seed < uint32_t(1) << 31; });
  const auto times = numberOfEnvironment<double>(
      "COMMSCHED_TEST_TIMES", 1, "a number above 0, 100000 at most", [](double times) { return times > 0 && times <= 1e5; },
      std::chars_format::fixed);
  return {first, first + std::max<uint32_t>(1, uint32_t(budget * times))};
}

} // namespace commsched

#endif // COMMSCHED_TESTS_CASES_H
