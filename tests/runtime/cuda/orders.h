// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which orders a graph asks for and which ones an issue plan gives, by brute force: four rounds
// as a graph, and who can be reached from whom. Knows nothing of clocks and last uses.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_ORDERS_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_ORDERS_H

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "runtime/cuda/host_lanes.h"
#include "runtime/cuda/issue_plan.h"
#include "runtime/cuda/step_graph.h"

namespace commsched::runtime::cuda {

inline constexpr uint64_t kRoundsOfOrders = 4;

using OrderedPair = std::pair<OpOfRound, OpOfRound>;

class Orders {
 public:
  // Those that the graph asks for: of lanes, of memory, and of `after`.
  static Orders Asked(const StepGraph &graph);
  // Those that result when the graph's ops are enqueued with these waits.
  static Orders Given(const StepGraph &graph, const IssuePlan &plan);

  bool Has(const OpOfRound &first, const OpOfRound &second) const;
  // Pairs on different lanes between which nothing is: the smallest set of waits with these orders.
  std::set<OrderedPair> Direct() const;

 private:
  explicit Orders(const StepGraph &graph);
  uint64_t Index(const OpOfRound &op) const { return op.round * ops_ + op.op; }
  OpOfRound At(uint64_t index) const { return {uint32_t(index % ops_), index / ops_}; }
  void Add(const OpOfRound &first, const OpOfRound &second) { Set(Index(first), Index(second)); }
  bool Reaches(uint64_t i, uint64_t j) const {
    return (reaches_[i * words_ + j / 64] >> (j % 64) & 1) != 0;
  }
  void Set(uint64_t i, uint64_t j) { reaches_[i * words_ + j / 64] |= uint64_t{1} << (j % 64); }
  void Close();

  const StepGraph &graph_;
  uint64_t ops_, words_ = 0;
  std::vector<uint64_t> reaches_;  // of each op of a round, a bit for each
};

// The pairs of which one writes what the other uses, the first enqueued first.
std::vector<OrderedPair> Conflicts(const StepGraph &graph);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_ORDERS_H
