// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/memory_needs.h"

#include "absl/strings/str_cat.h"

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

absl::StatusOr<MemoryNeeds> MemoryNeedsOf(const Program &program) {
  const SlotPlaces slots = PlaceSlots(program);
  MemoryNeeds needs;
  needs.slots = AllocatedBytes(slots.bytes);
  needs.pinned_other = kBounceBytes;
  for (const FunctionProgram &function : program.functions) {
    absl::StatusOr<PlanGraph> graph = MakePlanGraph(program, function, slots);
    if (!graph.ok()) return graph.status();
    needs.Add(*graph);
  }
  return needs;
}

std::string MemoryNeedsText(const MemoryNeeds &needs) {
  return absl::StrCat("device memory of a rank: ", needs.device(), " bytes: parameters and state ",
                      needs.slots, ", arenas ", needs.arenas, ", batches ", needs.batches,
                      ", scratch ", needs.scratch, ", small ", needs.small,
                      "\npinned memory of a rank: ", needs.pinned(), " bytes: staging ",
                      needs.pinned_arenas, ", batches ", needs.pinned_batches, ", small ",
                      needs.pinned_other, "\n");
}

}  // namespace commsched::runtime::cuda
