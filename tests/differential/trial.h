// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program in one mode: what the reference says beside what its plan does.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_TRIAL_H
#define COMMSCHED_TESTS_DIFFERENTIAL_TRIAL_H

#include "tests/differential/modes.h"

#include <chrono>
#include <memory>
#include <string>

namespace commsched::differential {

// Seconds of a clock that does not go back.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

enum class Outcome {
  equal,   // all that is determined is within its bounds
  wrong,   // something is not
  refused, // by the compiler, with a diagnostic
  failed,  // an internal error, or the run of the plan ended with an error
  invalid, // the generator's or the reference's fault: not a program
};
constexpr int kOutcomes = 5;
const char *nameOf(Outcome outcome);

struct Report {
  Outcome outcome = Outcome::equal;
  std::string message; // one line; empty if equal
  // Elements of all slots and metrics, and those of them that are not determined.
  uint64_t elements = 0, undetermined = 0;
  // Seconds.
  double reference = 0, lowering = 0, code = 0, run = 0;
};

constexpr int kSteps = 2;

class Trial {
public:
  Trial();
  ~Trial();

  // `text` is a function without a cluster. Values of slots and batches are made of
  // `seed` and the names.
  Report run(const std::string &text, const Mode &mode, uint64_t seed);

  struct Impl;

private:
  std::unique_ptr<Impl> impl;
};

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_TRIAL_H
