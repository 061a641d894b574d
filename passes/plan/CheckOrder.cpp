// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two steps are in flight at most, so two are unrolled. What precedes what is
// the transitive closure of dependences and in-order streams.

#include "CheckPlan.h"
#include "PlanDependences.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace commsched::planexport {

MemoryRange rangeOf(const plan::Function &function, unsigned buffer) {
  const plan::Buffer &own = function.buffers(buffer);
  uint64_t bytes = tensorBytes(own.type());
  const plan::Buffer &root =
      own.kind() == plan::Buffer::PART ? function.buffers(own.parent()) : own;
  unsigned rootIndex = own.kind() == plan::Buffer::PART ? own.parent() : buffer;
  uint64_t begin = own.kind() == plan::Buffer::PART ? own.offset() : 0;
  switch (root.kind()) {
  case plan::Buffer::SLOT_CURRENT:
    return {MemoryRange::SlotCurrent, root.slot(), begin, begin + bytes};
  case plan::Buffer::SLOT_NEXT:
    return {MemoryRange::SlotNext, root.slot(), begin, begin + bytes};
  case plan::Buffer::BATCH:
    return {MemoryRange::Batch, rootIndex, begin, begin + bytes};
  default:
    return {MemoryRange::Arena, 0, root.offset() + begin, root.offset() + begin + bytes};
  }
}

Touched touchedBy(const plan::Instruction &instruction) {
  Touched result;
  auto run = [&](const auto &compute) {
    result.reads.assign(compute.inputs().begin(), compute.inputs().end());
    result.writes.assign(compute.outputs().begin(), compute.outputs().end());
  };
  switch (instruction.kind_case()) {
  case plan::Instruction::kRun:
    run(instruction.run());
    break;
  case plan::Instruction::kDelay:
    run(instruction.delay());
    break;
  case plan::Instruction::kCommunicate: {
    const plan::Communicate &communicate = instruction.communicate();
    result.reads = {communicate.has_input() ? communicate.input() : communicate.buffer()};
    result.writes = {communicate.buffer()};
    if (communicate.has_output())
      result.writes.push_back(communicate.output());
    break;
  }
  case plan::Instruction::kCopy:
    result.reads = {instruction.copy().source()};
    result.writes = {instruction.copy().target()};
    break;
  case plan::Instruction::kPush:
    result.reads = {instruction.push().buffer()};
    break;
  case plan::Instruction::kPull:
    result.writes = {instruction.pull().buffer()};
    break;
  case plan::Instruction::kPushRows:
    result.reads = {instruction.push_rows().ids(), instruction.push_rows().values()};
    break;
  case plan::Instruction::kPullRows:
    result.reads = {instruction.pull_rows().ids()};
    result.writes = {instruction.pull_rows().values()};
    break;
  default:
    break;
  }
  return result;
}

namespace {

bool inTurn(const plan::Instruction &instruction) {
  if (instruction.deferred())
    return false;
  if (instruction.has_copy())
    return instruction.copy().direction() == plan::CopyBuffer::LOCAL ||
           instruction.copy().in_line();
  return instruction.has_run() || instruction.has_delay();
}

bool overlap(const MemoryRange &a, const MemoryRange &b) {
  return a.kind == b.kind && a.index == b.index && a.begin < b.end && b.begin < a.end;
}

/// Fragments are compiled for memory that no other of their buffers shares.
bool sharesMemory(const plan::Function &function, const plan::Run &run) {
  for (int i = 0; i < run.outputs_size(); ++i) {
    MemoryRange out = rangeOf(function, run.outputs(i));
    for (unsigned input : run.inputs())
      if (overlap(out, rangeOf(function, input)))
        return true;
    for (int j = 0; j < i; ++j)
      if (overlap(out, rangeOf(function, run.outputs(j))))
        return true;
  }
  return false;
}

struct MemoryAccess {
  uint64_t begin, end;
  unsigned node;
  bool writes;
};

} // namespace

std::string checkOrder(const plan::Function &function) {
  unsigned n = function.instructions_size();
  // before[v]: nodes that precede v; instruction i of step s is s * n + i. All
  // edges lead to larger numbers.
  std::vector<llvm::BitVector> before(2 * n, llvm::BitVector(2 * n));
  std::map<unsigned, unsigned> lastOnStream; // of a device
  for (unsigned v = 0; v < 2 * n; ++v) {
    const plan::Instruction &instruction = function.instructions(v % n);
    unsigned step = v / n;
    if (instruction.has_run() && sharesMemory(function, instruction.run()))
      return "instruction \"" + instruction.name() + "\" writes memory of its own operands";
    auto after = [&](unsigned from) {
      before[v] |= before[from];
      before[v].set(from);
    };
    for (const plan::Dependence &dependence : instruction.dependences()) {
      if (dependence.distance() > step)
        continue;
      unsigned from = (step - dependence.distance()) * n + dependence.instruction();
      if (from >= v)
        return "instruction \"" + instruction.name() + "\" depends on one behind it";
      after(from);
    }
    if (inTurn(instruction)) {
      auto [last, first] = lastOnStream.try_emplace(instruction.device(), v);
      if (!first)
        after(last->second);
      last->second = v;
    }
  }

  std::map<unsigned, bool> rewritten; // slots
  for (const plan::Buffer &buffer : function.buffers())
    if (buffer.kind() == plan::Buffer::SLOT_NEXT)
      rewritten[buffer.slot()] = true;
  // By memory: the arena, and both copies of each slot.
  std::map<std::pair<unsigned, unsigned>, std::vector<MemoryAccess>> memories;
  for (unsigned v = 0; v < 2 * n; ++v) {
    const plan::Instruction &instruction = function.instructions(v % n);
    unsigned step = v / n;
    Touched touched = touchedBy(instruction);
    for (bool writes : {false, true})
      for (unsigned buffer : writes ? touched.writes : touched.reads) {
        MemoryRange range = rangeOf(function, buffer);
        if (writes && (range.kind == MemoryRange::SlotCurrent || range.kind == MemoryRange::Batch))
          return "instruction \"" + instruction.name() + "\" writes what it may only read";
        if (range.kind == MemoryRange::Batch || range.begin == range.end)
          continue;
        unsigned copy = 2; // of the slot; 2 is the arena
        if (range.kind == MemoryRange::SlotCurrent)
          copy = rewritten.count(range.index) ? step % 2 : 0;
        else if (range.kind == MemoryRange::SlotNext)
          copy = (step + 1) % 2;
        memories[{copy, range.index}].push_back({range.begin, range.end, v, writes});
      }
  }
  for (auto &[memory, accesses] : memories) {
    llvm::stable_sort(accesses,
                      [](const MemoryAccess &a, const MemoryAccess &b) { return a.begin < b.begin; });
    std::vector<const MemoryAccess *> open;
    for (const MemoryAccess &access : accesses) {
      llvm::erase_if(open, [&](const MemoryAccess *other) { return other->end <= access.begin; });
      for (const MemoryAccess *other : open) {
        auto [first, second] = std::minmax(other->node, access.node);
        if ((!other->writes && !access.writes) || first == second || before[second].test(first))
          continue;
        // Both in the second step is what the first has shown.
        if (first >= n)
          continue;
        return "instruction \"" + function.instructions(second % n).name() + "\"" +
               (second >= n ? " of the next step" : "") + " does not wait for \"" +
               function.instructions(first).name() +
               "\", though both touch the same memory and one writes it";
      }
      open.push_back(&access);
    }
  }
  return "";
}

} // namespace commsched::planexport
