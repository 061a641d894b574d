// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ways to compile and run a step.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_MODES_H
#define COMMSCHED_TESTS_DIFFERENTIAL_MODES_H

#include <cstdint>
#include <string>

namespace commsched::differential {

struct Mode {
  int64_t nodes = 1, devices = 1;
  bool sum = false; // how gradients combine; else mean
  // Between nodes; what is decided by predicted times depends on it.
  int64_t mbitPerSecond = 1000, latencyNs = 50000;
  int64_t intraMbitPerSecond = 80000; // between devices of a node
  std::string pipeline;

  int64_t workers() const { return nodes * devices; }
  bool servers() const;
  bool sparse() const;
  // Of how many steps a trainer merges the gradients.
  int64_t merge() const;
  void mergeNothing();
  // The cs.cluster to put in front of a program.
  std::string cluster() const;
  // "nodes=2 devices=1 link=1000:50000 intra=80000 reduction=mean pipeline=..."; parse() is its
  // inverse, and takes a text without links too.
  std::string text() const;
  static bool parse(const std::string &text, Mode &mode);
};

// One in three with parameter servers; of these, one in four asynchronous.
Mode modeOf(uint64_t seed);

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_MODES_H
