// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory an executor takes for a program, before it is made.
#ifndef COMMSCHED_RUNTIME_EXECUTE_MEMORY_NEEDS_H
#define COMMSCHED_RUNTIME_EXECUTE_MEMORY_NEEDS_H

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// What Executor::memory_bytes() is, but for what kernels ask for when they are made.
struct HostMemoryNeeds {
  uint64_t arenas = 0, scratch = 0;  // of all functions, of all compute streams
  uint64_t slots = 0;                // with both copies
  uint64_t all() const { return arenas + scratch + slots; }
};
HostMemoryNeeds HostMemoryNeedsOf(const Program &program);

// What the system can give without taking it from others (MemAvailable of Linux, or less where a control group has a
// limit, and free swap);
// all there is if it does not say.
uint64_t AvailableMemory();

// kResourceExhausted, with the numbers, if `ranks` ranks of such a program need more than `available`.
absl::Status CheckMemory(const Program &program, int ranks, uint64_t available);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_MEMORY_NEEDS_H
