// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines of CommSched's passes in any order, with options of any value.

#ifndef COMMSCHED_TESTS_FUZZ_DRAW_H
#define COMMSCHED_TESTS_FUZZ_DRAW_H

#include "tests/fuzz/random.h"

#include <string>
#include <vector>

namespace commsched::fuzz {

class Drawer {
public:
  // All passes of passes/*/Passes.td, which must be registered.
  Drawer();

  // One pass, most often; or one way into level 1, and up to three passes; or a pipeline of
  // passes/Pipelines.h. Options are mostly as they are by default. Not every text is taken: options
  // may refuse each other.
  std::string pipeline(Random &random) const;

private:
  struct Option {
    std::string name, value; // by default
  };
  struct Entry {
    std::string name;
    std::vector<Option> options;
  };
  std::string one(const Entry &entry, Random &random, int changes) const;

  std::vector<Entry> passes, pipelines;
};

} // namespace commsched::fuzz

#endif // COMMSCHED_TESTS_FUZZ_DRAW_H
