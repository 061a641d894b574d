// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What drawn plans compute.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/runtime/cuda/drawn_plan.h"

namespace commsched::runtime::cuda {

void MixWords(const DrawnKernel &kernel, const std::vector<std::byte *> &pointers) {
  uint64_t mix = kernel.number + 1;
  for (size_t p = 0; p < kernel.reads; ++p) {
    for (size_t i = 0; i < kernel.bytes[p]; ++i)
      mix = (mix ^ uint64_t(pointers[p][i])) * 0x100000001b3;
  }
  for (size_t p = kernel.reads; p < kernel.bytes.size(); ++p) {
    for (size_t i = 0; i < kernel.bytes[p]; i += kDrawnWord) {
      mix = mix * 6364136223846793005 + 1442695040888963407;
      // Small, so that sums over ranks do not overflow.
      const auto word = uint32_t(mix >> 44);
      std::memcpy(pointers[p] + i, &word, kDrawnWord);
    }
  }
}

std::vector<std::pair<std::string, size_t>> BatchesOf(const plan::Function &function) {
  std::vector<std::pair<std::string, size_t>> batches;
  for (const plan::Buffer &b : function.buffers()) {
    if (b.kind() == plan::Buffer::BATCH)
      batches.emplace_back(b.batch(), size_t(b.type().shape(0)) * kDrawnWord);
  }
  return batches;
}

DrawnReference::DrawnReference(const DrawnPlan &plan) : plan_(plan) {
  slots_.resize(size_t(plan.ranks()));
  for (auto &of_rank : slots_) {
    for (uint32_t slot = 0; slot < plan.slots; ++slot)
      of_rank.emplace_back(size_t(plan.proto.slots(int(slot)).type().shape(0)) * kDrawnWord,
                           std::byte(0));
  }
}

std::vector<std::vector<double>> DrawnReference::Call(
    int number, const std::vector<std::vector<Bytes>> &batches) {
  const plan::Function &f = plan_.proto.functions(number);
  const auto ranks = size_t(plan_.ranks());
  struct Memory {
    Bytes arena, host, scratch;
    std::vector<Bytes> next;
    std::vector<double> metrics;
  };
  std::vector<Memory> memories(ranks);
  for (size_t r = 0; r < ranks; ++r)
    memories[r] = {Bytes(f.arena_bytes()), Bytes(f.host_arena_bytes()), Bytes(f.scratch_bytes()),
                   slots_[r], std::vector<double>(size_t(f.outputs_size()))};
  std::vector<std::vector<Bytes>> own = batches;
  const auto at = [&](size_t r, uint32_t buffer) -> std::byte * {
    const plan::Buffer &b = f.buffers(int(buffer));
    if (b.kind() == plan::Buffer::SLOT_CURRENT) return slots_[r][b.slot()].data();
    if (b.kind() == plan::Buffer::SLOT_NEXT) return memories[r].next[b.slot()].data();
    if (b.kind() == plan::Buffer::BATCH) {
      const auto names = BatchesOf(f);
      for (size_t i = 0; i < names.size(); ++i) {
        if (names[i].first == b.batch()) return own[r][i].data();
      }
    }
    return (b.host() ? memories[r].host : memories[r].arena).data() + b.offset();
  };
  const auto bytes = [&](uint32_t buffer) {
    return size_t(f.buffers(int(buffer)).type().shape(0)) * kDrawnWord;
  };
  // Of all ranks, element by element, in whole numbers.
  const auto reduce = [&](uint32_t from, bool max) {
    std::vector<int32_t> result(bytes(from) / kDrawnWord);
    for (size_t r = 0; r < ranks; ++r) {
      for (size_t i = 0; i < result.size(); ++i) {
        int32_t value;
        std::memcpy(&value, at(r, from) + i * kDrawnWord, kDrawnWord);
        result[i] = r == 0 ? value : max ? std::max(result[i], value)
                                         : result[i] + value;
      }
    }
    return result;
  };
  for (const plan::Instruction &instruction : f.instructions()) {
    if (instruction.has_copy()) {
      for (size_t r = 0; r < ranks; ++r)
        std::memcpy(at(r, instruction.copy().target()), at(r, instruction.copy().source()),
                    bytes(instruction.copy().target()));
    } else if (instruction.has_launch()) {
      const plan::Launch &launch = instruction.launch();
      for (size_t r = 0; r < ranks; ++r) {
        for (const auto &step : plan_.proto.cuda().fragments(int(launch.fragment())).steps()) {
          std::vector<std::byte *> pointers;
          for (const auto &a : step.launch().arguments())
            pointers.push_back(a.base() == plan::Cuda::Address::INPUT
                                   ? at(r, launch.inputs(int(a.index())))
                               : a.base() == plan::Cuda::Address::OUTPUT
                                   ? at(r, launch.outputs(int(a.index())))
                                   : memories[r].scratch.data());
          MixWords(plan_.kernels.at(step.launch().kernel()), pointers);
        }
      }
    } else if (instruction.has_push()) {
      const plan::Push &push = instruction.push();
      const std::vector<int32_t> sum = reduce(push.buffer(), false);
      Bytes &value = blocks_[{push.server(), push.block()}];
      value.resize(bytes(push.buffer()));
      std::memcpy(value.data(), sum.data(), value.size());
    } else if (instruction.has_pull()) {
      const plan::Pull &pull = instruction.pull();
      Bytes &value = blocks_[{pull.server(), pull.block()}];
      value.resize(bytes(pull.buffer()));  // zeros before the first step
      for (size_t r = 0; r < ranks; ++r) std::memcpy(at(r, pull.buffer()), value.data(), value.size());
    } else {
      const plan::Communicate &c = instruction.communicate();
      const uint32_t from = c.has_input() ? c.input() : c.buffer();
      const uint32_t to = c.has_output() ? c.output() : c.buffer();
      if (c.has_nccl() && c.nccl().kind() == plan::Nccl::ALL_GATHER) {
        Bytes all;
        for (size_t r = 0; r < ranks; ++r) all.insert(all.end(), at(r, from), at(r, from) + bytes(from));
        for (size_t r = 0; r < ranks; ++r) std::memcpy(at(r, to), all.data(), all.size());
        continue;
      }
      const bool max = c.has_nccl() ? c.nccl().reduction() == plan::Nccl::MAX
                                    : c.phases_size() > 0 && c.phases(0).combine() == plan::MAX;
      const std::vector<int32_t> result = reduce(from, max);
      for (size_t r = 0; r < ranks; ++r) {
        const size_t begin =
            c.has_nccl() && c.nccl().kind() == plan::Nccl::REDUCE_SCATTER ? r * bytes(to) / kDrawnWord : 0;
        std::memcpy(at(r, to), result.data() + begin, bytes(to));
      }
    }
  }
  std::vector<std::vector<double>> metrics(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    for (const plan::Output &output : f.outputs()) {
      int32_t value;
      std::memcpy(&value, at(r, output.buffer()), kDrawnWord);
      metrics[r].push_back(value);
    }
    slots_[r] = memories[r].next;
  }
  return metrics;
}

}  // namespace commsched::runtime::cuda
