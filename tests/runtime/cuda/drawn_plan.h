// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random plans for CUDA devices, without the compiler: fragments that mix whole numbers, copies,
// messages through the host, collectives of NCCL, parameter servers, slots, batches, metrics. Memory
// of values that are no longer needed is used again. And what they compute: instruction after instruction on
// plain memory, which knows nothing of runtime/cuda.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_PLAN_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_PLAN_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.pb.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

// Bytes of an element.
inline constexpr uint64_t kDrawnWord = 4;

// A kernel of a drawn plan, by its name in the PTX: how many bytes each pointer has, and which of
// them it writes. Every word that it writes depends on every byte that it reads.
struct DrawnKernel {
  std::vector<size_t> bytes;
  size_t reads = 0;  // the first so many pointers; the others are written
  uint32_t number = 0;
};

struct DrawnPlan {
  plan::Plan proto;
  std::string bytes;  // of the plan's file
  std::map<std::string, DrawnKernel> kernels;
  std::map<std::string, FakeKernel> fakes;  // the same, for a machine

  int ranks() const { return int(proto.cluster().nodes()); }
  // Whether it has collectives of NCCL, messages between ranks, and to and from servers.
  bool nccl = false, messages = false, servers = false;
  // Of the ranks: the first ones of the plan. The others are those of servers.
  int functions = 0;
  uint32_t slots = 0;
};

struct DrawnPlanOptions {
  int most_ranks = 4;
  bool nccl = true, messages = true;
  // The step pushes values to up to two servers, which add those of all ranks, and pulls the sums; other
  // functions pull the sums of the step before. The values are of words that are subnormal numbers, of
  // which sums are those of whole numbers.
  bool servers = false;
};
DrawnPlan DrawPlan(std::mt19937_64 &random, const DrawnPlanOptions &options = {});

void MixWords(const DrawnKernel &kernel, const std::vector<std::byte *> &pointers);

// All ranks, one step after the other.
class DrawnReference {
 public:
  explicit DrawnReference(const DrawnPlan &plan);
  using Bytes = std::vector<std::byte>;
  void SetSlot(int rank, uint32_t slot, const Bytes &value) { slots_[size_t(rank)][slot] = value; }
  const Bytes &slot(int rank, uint32_t slot) const { return slots_[size_t(rank)][slot]; }
  // Runs a function on all ranks; `batches` by rank and batch. The metrics of each rank.
  std::vector<std::vector<double>> Call(int function,
                                        const std::vector<std::vector<Bytes>> &batches);

 private:
  const DrawnPlan &plan_;
  std::vector<std::vector<Bytes>> slots_;                  // by rank
  std::map<std::pair<uint32_t, uint32_t>, Bytes> blocks_;  // by server and block
};

// The batches of a function: their names in the order in which the runtime has them, and bytes.
std::vector<std::pair<std::string, size_t>> BatchesOf(const plan::Function &function);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_DRAWN_PLAN_H
