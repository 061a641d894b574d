// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutants of a set of texts. Deterministic: the same texts, seed and index give
// the same mutant, whatever ran before.

#ifndef COMMSCHED_TESTS_FUZZ_MUTATE_H
#define COMMSCHED_TESTS_FUZZ_MUTATE_H

#include <cstdint>
#include <string>
#include <vector>

namespace commsched::fuzz {

class Mutator {
public:
  // `texts` must not be empty; their order matters.
  Mutator(std::vector<std::string> texts, uint64_t seed);

  // One text with one to five random changes, mostly one: of bytes, tokens, numbers,
  // lines, blocks, or with a piece of another text in it.
  std::string mutant(uint64_t index) const;

private:
  std::vector<std::string> texts;
  std::vector<std::string> tokens; // of all texts, each once, in order
  uint64_t seed;
};

} // namespace commsched::fuzz

#endif // COMMSCHED_TESTS_FUZZ_MUTATE_H
