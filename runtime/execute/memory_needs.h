// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory ranks and parameter servers take for a plan, before they are made.
#ifndef COMMSCHED_RUNTIME_EXECUTE_MEMORY_NEEDS_H
#define COMMSCHED_RUNTIME_EXECUTE_MEMORY_NEEDS_H

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// What Executor::memory_bytes() is, but for what kernels ask for when they are made.
struct HostMemoryNeeds {
  uint64_t arenas = 0, scratch = 0;  // of all functions, of all compute streams
  uint64_t slots = 0;                // with both copies
  uint64_t sums = 0;                 // of a server besides: gradients of several trainers
  uint64_t all() const { return arenas + scratch + slots + sums; }
  bool operator==(const HostMemoryNeeds &) const = default;
};
HostMemoryNeeds HostMemoryNeedsOf(const Program &program);

// Of each rank of a plan, which may run steps of their own. Errors: those of ForRank.
absl::StatusOr<std::vector<HostMemoryNeeds>> HostMemoryNeedsOf(const PlanImage &image);
// Of parameter server `server`, where trainers send what a block is. Errors: those of ForServer.
absl::StatusOr<HostMemoryNeeds> HostMemoryNeedsOfServer(const PlanImage &image, int server);

// What the system can give without taking it from others (MemAvailable of Linux, or less where a control group has a
// limit, and free swap);
// all there is if it does not say.
uint64_t AvailableMemory();

// kResourceExhausted, with the numbers, if these, which are `who`, need more than `available` together.
absl::Status CheckMemory(absl::Span<const HostMemoryNeeds> needs, uint64_t available, absl::string_view who = "ranks");
// The same of all ranks and servers of a plan, or the error with which one does not load.
absl::Status CheckMemory(const PlanImage &image, uint64_t available);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_MEMORY_NEEDS_H
