// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/memory_needs.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/memory_limits.h"
#include "runtime/execute/instruction_runner.h"
#include "runtime/execute/slot_memory.h"

namespace commsched::runtime {

HostMemoryNeeds HostMemoryNeedsOf(const Program &program) {
  HostMemoryNeeds needs;
  for (const FunctionProgram &f : program.functions)
    needs.arenas += Memory::SizeOf(HostArenaBegin(f) + f.host_arena_bytes);
  for (const StreamInfo &stream : program.streams)
    if (stream.kind == StreamInfo::kCompute)
      needs.scratch += Memory::SizeOf(InstructionRunner::ScratchBytesOf(program)) +
                       Memory::SizeOf(0);  // of kernels, at least
  needs.slots = Memory::SizeOf(SlotMemory::BytesOf(program.slots));
  return needs;
}

uint64_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  uint64_t free = 0, swap = 0, number = 0;  // kilobytes
  std::string name, unit;
  bool known = false;
  while (file >> name >> number && std::getline(file, unit)) {
    known |= name == "MemAvailable:";
    if (name == "MemAvailable:") free = number;
    if (name == "SwapFree:") swap = number;
  }
  const uint64_t here = known ? free * 1024 : std::numeric_limits<uint64_t>::max() / 2;
  return std::min(here, ReadMemoryGroup().room.value_or(here)) + swap * 1024;
}

absl::Status CheckMemory(const Program &program, int ranks, uint64_t available) {
  const HostMemoryNeeds needs = HostMemoryNeedsOf(program);
  if (double(needs.all()) * ranks <= double(available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the plan needs ", needs.all(), " bytes of memory",
      ranks > 1 ? absl::StrCat(" for each of ", ranks, " ranks here") : "", " (parameters and state ",
      needs.slots, ", arenas ", needs.arenas, ", scratch ", needs.scratch, "), the host, or its container, has ",
      available, " available"));
}

}  // namespace commsched::runtime
