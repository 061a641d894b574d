// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two steps are in flight at most, so two are unrolled. What precedes what is
// the transitive closure of dependences and in-order streams.

#include "passes/plan/CheckPlan.h"
#include "passes/plan/PlanDependences.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>

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
  case plan::Buffer::WORKER_INDEX: // as a batch without a name
    return {MemoryRange::Batch, rootIndex, begin, begin + bytes};
  default:
    return {MemoryRange::Arena, root.host() ? 1u : 0u, root.offset() + begin, root.offset() + begin + bytes};
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
  case plan::Instruction::kLaunch:
    run(instruction.launch());
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
  return instruction.has_run() || instruction.has_launch() || instruction.has_delay();
}

bool overlap(const MemoryRange &a, const MemoryRange &b) {
  return a.kind == b.kind && a.index == b.index && a.begin < b.end && b.begin < a.end;
}

/// Fragments are compiled for memory that no other of their buffers shares.
template <typename Compute>
bool sharesMemory(const plan::Function &function, const Compute &run) {
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

/// Two steps of a function, each with n nodes: an instruction is one, when it is
/// complete, behind one for each of its parts, when that is there. All edges lead to
/// larger numbers.
struct Unrolled {
  unsigned n = 0;
  std::vector<unsigned> instruction;                 // by node of a step
  std::vector<llvm::SmallVector<unsigned, 4>> after; // by node
  std::vector<int> stream;                           // device, -1: in no order of its own
};

struct MemoryAccess {
  uint64_t begin, end;
  unsigned node;
  bool writes;
};

using Pair = std::pair<unsigned, unsigned>; // nodes, the smaller first

/// Pairs of accesses to the same bytes, one of them writing, that a stream does
/// not order.
void findConflicts(const Unrolled &steps, std::vector<MemoryAccess> &accesses,
                   std::vector<Pair> &pairs) {
  llvm::stable_sort(accesses, [](const MemoryAccess &a, const MemoryAccess &b) {
    return a.begin < b.begin;
  });
  std::map<int, std::vector<const MemoryAccess *>> open; // by stream
  for (const MemoryAccess &access : accesses) {
    int stream = steps.stream[access.node];
    for (auto &[other, list] : open) {
      // A stream orders its own.
      if (other == stream && stream >= 0)
        continue;
      llvm::erase_if(list, [&](const MemoryAccess *old) { return old->end <= access.begin; });
      for (const MemoryAccess *old : list) {
        auto [first, second] = std::minmax(old->node, access.node);
        // Both in the second step is what the first shows.
        if ((old->writes || access.writes) && first != second && first < steps.n)
          pairs.push_back({first, second});
      }
    }
    open[stream].push_back(&access);
  }
}

/// The first pair that nothing orders. Works on some thousand sources at a time:
/// memory and time are linear in the number of nodes.
std::optional<Pair> findUnordered(const Unrolled &steps, std::vector<Pair> &pairs) {
  llvm::sort(pairs);
  pairs.erase(llvm::unique(pairs), pairs.end());
  constexpr unsigned kSources = 4096;
  for (size_t begin = 0; begin < pairs.size();) {
    std::map<unsigned, unsigned> sources; // node -> bit
    size_t end = begin;
    for (; end < pairs.size(); ++end) {
      if (!sources.count(pairs[end].first) && sources.size() == kSources)
        break;
      sources.try_emplace(pairs[end].first, sources.size());
    }
    unsigned base = pairs[begin].first;
    std::vector<llvm::BitVector> before(2 * steps.n - base, llvm::BitVector(sources.size()));
    for (unsigned v = base; v < 2 * steps.n; ++v)
      for (unsigned from : steps.after[v]) {
        if (from < base)
          continue;
        before[v - base] |= before[from - base];
        if (auto bit = sources.find(from); bit != sources.end())
          before[v - base].set(bit->second);
      }
    for (; begin < end; ++begin)
      if (!before[pairs[begin].second - base].test(sources[pairs[begin].first]))
        return pairs[begin];
  }
  return std::nullopt;
}

} // namespace

std::string checkOrder(const plan::Function &function) {
  Unrolled steps;
  std::vector<unsigned> nodeOf; // by instruction: when it is complete
  for (int i = 0; i < function.instructions_size(); ++i) {
    int parts = function.instructions(i).communicate().part_bytes_size();
    steps.instruction.insert(steps.instruction.end(), parts + 1, i);
    nodeOf.push_back(steps.instruction.size() - 1);
  }
  unsigned n = steps.n = steps.instruction.size();
  steps.after.resize(2 * n);
  std::map<unsigned, unsigned> lastOnStream; // of a device
  for (unsigned v = 0; v < 2 * n; ++v) {
    const plan::Instruction &instruction = function.instructions(steps.instruction[v % n]);
    unsigned step = v / n;
    if (instruction.has_run() ? sharesMemory(function, instruction.run())
                              : sharesMemory(function, instruction.launch()))
      return "instruction \"" + instruction.name() + "\" writes memory of its own operands";
    for (const plan::Dependence &dependence : instruction.dependences()) {
      if (dependence.distance() > step)
        continue;
      unsigned from = (step - dependence.distance()) * n + nodeOf[dependence.instruction()];
      if (dependence.has_part()) {
        int parts = function.instructions(dependence.instruction()).communicate().part_bytes_size();
        if (dependence.part() >= static_cast<unsigned>(parts))
          return "instruction \"" + instruction.name() + "\" waits for part " +
                 std::to_string(dependence.part()) + " of " + std::to_string(parts);
        from = from - parts + dependence.part();
      }
      if (from >= v)
        return "instruction \"" + instruction.name() + "\" depends on one behind it";
      steps.after[v].push_back(from);
    }
    // All of it is complete when its parts are.
    if (unsigned parts = instruction.communicate().part_bytes_size();
        v % n == nodeOf[steps.instruction[v % n]])
      for (unsigned part = v - parts; part < v; ++part)
        steps.after[v].push_back(part);
    steps.stream.push_back(inTurn(instruction) ? static_cast<int>(instruction.device()) : -1);
    if (inTurn(instruction)) {
      auto [last, first] = lastOnStream.try_emplace(instruction.device(), v);
      if (!first)
        steps.after[v].push_back(last->second);
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
    const plan::Instruction &instruction = function.instructions(steps.instruction[v % n]);
    unsigned step = v / n;
    Touched touched = touchedBy(instruction);
    unsigned complete = step * n + nodeOf[steps.instruction[v % n]];
    int parts = instruction.communicate().part_bytes_size();
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
        bool ofMessage = parts > 0 && writes && buffer == instruction.communicate().buffer();
        // A part is written until it is there, and may be sent until all is complete.
        if (v != complete) {
          if (!ofMessage)
            continue;
          for (unsigned part = complete - parts; part < v; ++part)
            range.begin += instruction.communicate().part_bytes(part - (complete - parts));
          range.end =
              range.begin + instruction.communicate().part_bytes(v - (complete - parts));
        }
        memories[{copy, range.index}].push_back(
            {range.begin, range.end, v, writes && (v != complete || !ofMessage)});
      }
  }
  std::vector<Pair> pairs;
  for (auto &[memory, accesses] : memories)
    findConflicts(steps, accesses, pairs);
  if (std::optional<Pair> pair = findUnordered(steps, pairs))
    return "instruction \"" + function.instructions(steps.instruction[pair->second % n]).name() +
           "\"" +
           (pair->second >= n ? " of the next step" : "") + " does not wait for \"" +
           function.instructions(steps.instruction[pair->first]).name() +
           "\", though both touch the same memory and one writes it";
  return "";
}

} // namespace commsched::planexport
