// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/runtime/cuda/graph_run.h"

namespace commsched::runtime::cuda {
namespace {

template <typename T>
T ElementOf(const std::vector<RankMemory> &memory, int rank, const Range &range, size_t i) {
  T value;
  std::memcpy(&value, memory[size_t(rank)][range.memory].data() + range.begin + i * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T>
void ExpectCollective(const GraphCase &graph_case, uint32_t op, std::vector<RankMemory> *memory) {
  const OpWork &work = graph_case.work[op];
  const Range &from = graph_case.graph.ops[op].reads.front(),
              &to = graph_case.graph.ops[op].writes.front();
  const std::vector<RankMemory> before = *memory;
  const int ranks = graph_case.ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i < to.bytes / sizeof(T); ++i) {
      T result{};
      if (work.collective == Collective::Kind::kAllGather) {
        result = ElementOf<T>(before, int(i / work.count), from, i % work.count);
      } else {
        const size_t at =
            work.collective == Collective::Kind::kAllReduce ? i : size_t(rank) * work.count + i;
        result = ElementOf<T>(before, 0, from, at);
        for (int other = 1; other < ranks; ++other) {
          const T more = ElementOf<T>(before, other, from, at);
          result = work.reduction == NcclReduction::kMax ? std::max(result, more)
                                                         : T(uint64_t(result) + uint64_t(more));
        }
      }
      std::memcpy((*memory)[size_t(rank)][to.memory].data() + to.begin + i * sizeof(T), &result,
                  sizeof(T));
    }
  }
}

}  // namespace

RankMemory InitialMemory(const GraphCase &graph_case, int rank) {
  RankMemory memory;
  for (uint64_t bytes : graph_case.memory) {
    std::vector<std::byte> &each = memory.emplace_back(bytes);
    for (size_t i = 0; i < each.size(); ++i)
      each[i] = std::byte(rank * 101 + int(memory.size()) * 31 + int(i) * 7);
  }
  return memory;
}

void ApplyOp(const GraphCase &graph_case, uint32_t number, uint64_t round,
             const std::vector<std::byte *> &memory) {
  const Op &op = graph_case.graph.ops[number];
  if (graph_case.work[number].kind == OpWork::kCopy) {
    const Range &from = op.reads.front(), &to = op.writes.front();
    std::memcpy(memory[to.memory] + to.begin, memory[from.memory] + from.begin, to.bytes);
    return;
  }
  // Every byte that is written depends on every one that is read, the op and the round.
  uint64_t mix = number * 1000003 + round * 7919 + 1;
  for (const Range &range : op.reads) {
    for (uint64_t i = 0; i < range.bytes; ++i)
      mix = (mix ^ uint64_t(memory[range.memory][range.begin + i])) * 0x100000001b3;
  }
  for (const Range &range : op.writes) {
    for (uint64_t i = 0; i < range.bytes; ++i) {
      mix = mix * 6364136223846793005 + 1442695040888963407;
      memory[range.memory][range.begin + i] = std::byte(mix >> 56);
    }
  }
}

std::vector<RankMemory> ExpectedMemory(const GraphCase &graph_case, uint64_t rounds) {
  std::vector<RankMemory> memory;
  for (int rank = 0; rank < graph_case.ranks; ++rank)
    memory.push_back(InitialMemory(graph_case, rank));
  for (uint64_t round = 0; round < rounds; ++round) {
    for (uint32_t op = 0; op < graph_case.graph.ops.size(); ++op) {
      if (graph_case.work[op].kind == OpWork::kCollective) {
        if (graph_case.work[op].type == NcclType::kInt32)
          ExpectCollective<int32_t>(graph_case, op, &memory);
        else
          ExpectCollective<int64_t>(graph_case, op, &memory);
        continue;
      }
      for (RankMemory &rank : memory) {
        std::vector<std::byte *> begins;
        for (std::vector<std::byte> &each : rank) begins.push_back(each.data());
        ApplyOp(graph_case, op, round, begins);
      }
    }
  }
  return memory;
}

std::string NameOf(const GraphCase &graph_case, const OpOfRound &op) {
  return absl::StrCat(graph_case.graph.ops[op.op].name, " of round ", op.round);
}

FakeWork WorkOf(const GraphCase &graph_case, const OpOfRound &op,
                const std::vector<std::byte *> &memory) {
  const auto bytes = [&](const std::vector<Range> &ranges) {
    std::vector<Bytes> result;
    for (const Range &range : ranges) {
      const auto begin = reinterpret_cast<uintptr_t>(memory[range.memory]) + range.begin;
      result.push_back({begin, begin + range.bytes});
    }
    return result;
  };
  const Op &what = graph_case.graph.ops[op.op];
  return {NameOf(graph_case, op), bytes(what.reads), bytes(what.writes),
          [&graph_case, op, memory] { ApplyOp(graph_case, op.op, op.round, memory); }};
}

Collective CollectiveOf(const GraphCase &graph_case, const OpOfRound &op,
                        const std::vector<std::byte *> &memory) {
  const OpWork &work = graph_case.work[op.op];
  const Op &what = graph_case.graph.ops[op.op];
  const Range &from = what.reads.front(), &to = what.writes.front();
  return {.name = {what.name, op.round},
          .kind = work.collective,
          .from = memory[from.memory] + from.begin,
          .to = memory[to.memory] + to.begin,
          .count = work.count,
          .type = work.type,
          .reduction = work.reduction};
}

}  // namespace commsched::runtime::cuda
