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

absl::StatusOr<std::vector<HostMemoryNeeds>> HostMemoryNeedsOf(const PlanImage &image) {
  std::vector<HostMemoryNeeds> needs;
  const auto add = [&](int first, int count) {
    auto program = image.ForRank(first);
    if (program.ok()) needs.insert(needs.end(), size_t(count), HostMemoryNeedsOf(**program));
    return program.status();
  };
  if (image.workers().empty())
    if (absl::Status s = add(0, image.nodes()); !s.ok()) return s;
  for (const WorkerRole &worker : image.workers())
    if (absl::Status s = add(worker.first, worker.count); !s.ok()) return s;
  return needs;
}

absl::StatusOr<HostMemoryNeeds> HostMemoryNeedsOfServer(const PlanImage &image, int server) {
  auto program = image.ForServer(server);
  if (!program.ok()) return program.status();
  HostMemoryNeeds needs = HostMemoryNeedsOf(**program);
  if (image.nodes() > 1)  // the gradient of one is used where it came
    for (const BlockProgram &block : (*program)->servers.servers[size_t(server)].blocks)
      if (!block.of_rows()) needs.sums += Memory::SizeOf(block.gradient.bytes);
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

absl::Status CheckMemory(absl::Span<const HostMemoryNeeds> needs, uint64_t available, absl::string_view who) {
  HostMemoryNeeds sum;
  double all = 0;  // sizes that a file gives may add up to more than 64 bits
  for (const HostMemoryNeeds &each : needs) {
    all += double(each.all());
    sum.slots += each.slots;
    sum.arenas += each.arenas;
    sum.scratch += each.scratch;
    sum.sums += each.sums;
  }
  if (all <= double(available)) return absl::OkStatus();
  const bool alike = std::all_of(needs.begin(), needs.end(), [&](const HostMemoryNeeds &each) { return each == needs[0]; });
  const HostMemoryNeeds &said = alike ? needs[0] : sum;
  return absl::ResourceExhaustedError(absl::StrCat(
      "the plan needs ", said.all(), " bytes of memory",
      needs.size() < 2 ? "" : absl::StrCat(alike ? " for each of " : " for the ", needs.size(), " ", who, " here"),
      " (parameters and state ", said.slots, ", arenas ", said.arenas, ", scratch ", said.scratch,
      said.sums == 0 ? "" : absl::StrCat(", sums of gradients ", said.sums), "), the host, or its container, has ",
      available, " available"));
}

absl::Status CheckMemory(const PlanImage &image, uint64_t available) {
  auto needs = HostMemoryNeedsOf(image);
  if (!needs.ok()) return needs.status();
  const int servers = int(image.servers().servers.size());
  for (int server = 0; server < servers; ++server) {
    auto of_server = HostMemoryNeedsOfServer(image, server);
    if (!of_server.ok()) return of_server.status();
    needs->push_back(*of_server);
  }
  return CheckMemory(*needs, available, servers == 0 ? "ranks" : "ranks and servers");
}

}  // namespace commsched::runtime
