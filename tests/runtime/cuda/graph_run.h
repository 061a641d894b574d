// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounds of a random graph on a FakeMachine, all ranks driven by one thread in a random order: by
// StepIssuer and HostLanes, as an issue plan says, which may be a wrong one.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_GRAPH_RUN_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_GRAPH_RUN_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/cuda/host_lanes.h"
#include "runtime/cuda/issue_plan.h"
#include "tests/runtime/cuda/fake_machine.h"
#include "tests/runtime/cuda/random_graph.h"

namespace commsched::runtime::cuda {

// The bytes of all memories of a rank.
using RankMemory = std::vector<std::vector<std::byte>>;

// What an op other than a collective does to memory, given where its memories begin.
void ApplyOp(const GraphCase &graph_case, uint32_t op, uint64_t round,
             const std::vector<std::byte *> &memory);
RankMemory InitialMemory(const GraphCase &graph_case, int rank);
// The values after so many rounds, one op after the other.
std::vector<RankMemory> ExpectedMemory(const GraphCase &graph_case, uint64_t rounds);

// For names in findings.
std::string NameOf(const GraphCase &graph_case, const OpOfRound &op);
// The parameters of a kernel, a copy or a host op at these places.
FakeWork WorkOf(const GraphCase &graph_case, const OpOfRound &op,
                const std::vector<std::byte *> &memory);
Collective CollectiveOf(const GraphCase &graph_case, const OpOfRound &op,
                        const std::vector<std::byte *> &memory);

struct GraphRunOptions {
  uint64_t seed = 0;
  uint64_t rounds = 3;
  // Rank `rank` calls the collectives of these two ops in each other's place.
  struct Swap {
    int rank = 0;
    uint32_t first = 0, second = 0;
  };
  std::optional<Swap> swap = {};
};
struct GraphRunResult {
  absl::Status status;                // of the driver's calls
  std::vector<std::string> findings;  // of the machine
  bool values_equal = false;          // to what is expected
  size_t left = 0;                    // of what was made
};
GraphRunResult RunGraph(const GraphCase &graph_case, const IssuePlan &plan,
                        const GraphRunOptions &options);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_GRAPH_RUN_H
