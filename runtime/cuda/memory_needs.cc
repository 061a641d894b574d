// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/memory_needs.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/device_libraries.h"

namespace commsched::runtime::cuda {

void MemoryNeeds::Add(const PlanGraph &graph) {
  const auto of = [&](MemoryKind memory) { return AllocatedBytes(graph.bytes[memory]); };
  arenas += of(kArenaMemory);
  scratch += of(kScratchMemory);
  batches += of(kBatchMemory);
  small += of(kIndexMemory);
  pinned_arenas += of(kHostArenaMemory);
  pinned_batches += of(kHostBatchMemory);
  pinned_other += of(kHostMetricMemory);
}

uint32_t ComputeStreamOf(const PlanGraph &graph, size_t op) {
  return graph.graph.ops[op].lane;  // compute streams are the first ones
}

void LibraryUse::Add(const Program &program, const FunctionProgram &function,
                     const PlanGraph &graph) {
  for (size_t op = 0; op < graph.work.size(); ++op) {
    const DeviceOp &work = graph.work[op];
    if (work.kind != DeviceOp::kLaunch || program.cuda == nullptr) continue;
    for (const auto &step :
         program.cuda->fragments[function.instructions[work.instruction].launch.fragment].steps) {
      const auto *call = std::get_if<plan::CudaLibraryCall>(&step);
      if (call == nullptr) continue;
      kernels.insert(call->kernel);
      streams = std::max(streams, ComputeStreamOf(graph, op) + 1);
    }
  }
}

uint64_t LibraryUse::WorkspaceBytes(const Program &program) const {
  std::vector<const ops::KernelDesc *> called;
  for (uint32_t kernel : kernels) called.push_back(&program.kernels[kernel]);
  return streams * cuda::WorkspaceBytes(called);
}

absl::StatusOr<MemoryNeeds> MemoryNeedsOf(const Program &program) {
  const SlotPlaces slots = PlaceSlots(program);
  MemoryNeeds needs;
  needs.slots = AllocatedBytes(slots.bytes);
  needs.pinned_other = kBounceBytes;
  LibraryUse library;
  for (const FunctionProgram &function : program.functions) {
    absl::StatusOr<PlanGraph> graph = MakePlanGraph(program, function, slots);
    if (!graph.ok()) return graph.status();
    needs.Add(*graph);
    library.Add(program, function, *graph);
  }
  needs.workspaces = library.WorkspaceBytes(program);
  return needs;
}

std::string MemoryNeedsText(const MemoryNeeds &needs) {
  return absl::StrCat("device memory of a rank: ", needs.device(), " bytes: parameters and state ",
                      needs.slots, ", arenas ", needs.arenas, ", batches ", needs.batches,
                      ", scratch ", needs.scratch, ", workspaces ", needs.workspaces,
                      ", small ", needs.small,
                      "\npinned memory of a rank: ", needs.pinned(), " bytes: staging ",
                      needs.pinned_arenas, ", batches ", needs.pinned_batches, ", small ",
                      needs.pinned_other, "\n");
}

}  // namespace commsched::runtime::cuda
