// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults in the order of a step's ops, one at a time, and whether a FakeMachine finds each: every
// wait left out, every two collectives in each other's place on one rank, staging places that are
// used again too early. Whether a fault does any harm is decided by tests/runtime/cuda/orders.h:
// what does none must not be found.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_MUTANTS_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_MUTANTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace commsched::runtime::cuda {

struct MutantCounts {
  struct Of {
    uint64_t mutants = 0, found = 0;
    uint64_t by_values = 0;  // wrong values in the end, in the one order that was tried
  };
  Of waits, swaps, places;
  uint64_t graphs = 0, runs = 0, harmless = 0;
  // Findings where nothing is wrong, and those that name two ops that are in order.
  uint64_t false_alarms = 0;
  // Each of them, and each fault that was not found.
  std::vector<std::string> wrong;

  uint64_t mutants() const { return waits.mutants + swaps.mutants + places.mutants; }
  uint64_t found() const { return waits.found + swaps.found + places.found; }
};

// Random graph number `seed`, as it is in `orders` random orders, and with each fault in one.
void TryGraph(uint64_t seed, int orders, MutantCounts *counts);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_MUTANTS_H
