// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the fuzzer does with one input.

#ifndef COMMSCHED_TESTS_FUZZ_CHECK_H
#define COMMSCHED_TESTS_FUZZ_CHECK_H

#include <functional>
#include <memory>
#include <string>

namespace commsched::fuzz {

// How far an input came.
enum Outcome {
  kRefused,
  kVerified,
  kDistributed,
  kOutcomes
};
const char *outcomeName(Outcome outcome);

// Parses, prints and runs all pipelines over inputs. Keeps one MLIR context, so
// that an input costs little; not for use by several threads.
class Checker {
public:
  // Loads all dialects and prepares all pipelines, which takes a second: processes
  // that are forked then need not.
  Checker();
  ~Checker();
  // `finding` becomes a line that says what is wrong, if anything short of a
  // crash is: a failure without a diagnostic, or a print that does not parse.
  // Calls `drawn` with each pipeline before it runs, for what is not survived.
  Outcome check(const std::string &text, std::string &finding,
                const std::function<void(const std::string &)> &drawn);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace commsched::fuzz

#endif // COMMSCHED_TESTS_FUZZ_CHECK_H
