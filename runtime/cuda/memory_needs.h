// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory a rank's program takes on its device and of pinned memory: what DeviceExecutor
// allocates, to the byte, without a device.
#ifndef COMMSCHED_RUNTIME_CUDA_MEMORY_NEEDS_H
#define COMMSCHED_RUNTIME_CUDA_MEMORY_NEEDS_H

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/cuda/plan_graph.h"
#include "runtime/program/program.h"

namespace commsched::runtime::cuda {

// Of the pinned memory through which slots are set and read.
inline constexpr uint64_t kBounceBytes = uint64_t{16} << 20;

// Of what is asked for: nothing is allocated as a byte.
inline constexpr uint64_t AllocatedBytes(uint64_t bytes) { return bytes == 0 ? 1 : bytes; }

struct MemoryNeeds {
  // Of the device. Slots with both copies, batches of two calls, workspaces of library kernels; small is what else
  // there is.
  uint64_t slots = 0, arenas = 0, scratch = 0, batches = 0, workspaces = 0, small = 0;
  // Pinned memory of the host: staging, batches of two calls, and what else there is.
  uint64_t pinned_arenas = 0, pinned_batches = 0, pinned_other = 0;

  uint64_t device() const { return slots + arenas + scratch + batches + workspaces + small; }
  uint64_t pinned() const { return pinned_arenas + pinned_batches + pinned_other; }
  // Of a function, but for slots.
  void Add(const PlanGraph &graph);
};

// The library kernels that launches of a plan call.
struct LibraryUse {
  uint32_t streams = 0;  // that call any: compute streams 0 to this
  std::set<uint32_t> kernels;

  // Those of a function.
  void Add(const Program &program, const FunctionProgram &function, const PlanGraph &graph);
  uint64_t WorkspaceBytes(const Program &program) const;  // of all streams
};
// There are three compute streams at most: which of them an op is on.
uint32_t ComputeStreamOf(const PlanGraph &graph, size_t op);

// Errors are those of MakePlanGraph.
absl::StatusOr<MemoryNeeds> MemoryNeedsOf(const Program &program);

// Two lines: of the device, and of pinned memory.
std::string MemoryNeedsText(const MemoryNeeds &needs);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_MEMORY_NEEDS_H
