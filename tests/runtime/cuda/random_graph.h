// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random steps of ranks with a device each: gradients that are all-reduced on the device or go
// through staging memory and messages, and ops that use anything.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_RANDOM_GRAPH_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_RANDOM_GRAPH_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/cuda/nccl_lane.h"
#include "runtime/cuda/step_graph.h"

namespace commsched::runtime::cuda {

// Memories of a rank.
inline constexpr uint32_t kArena = 0, kStaging = 1;

// What an op does, besides what the graph says.
struct OpWork {
  enum Kind {
    kKernel,
    kCopy,
    kCollective,
    kHost
  } kind = kKernel;
  // Of a collective, whose ranges are those of the op: the first that it reads, the first that it
  // writes.
  Collective::Kind collective = Collective::Kind::kAllReduce;
  size_t count = 0;
  NcclType type = NcclType::kInt32;
  NcclReduction reduction = NcclReduction::kSum;
};

struct GraphCase {
  int ranks = 1;
  StepGraph graph;
  std::vector<OpWork> work;      // of each op
  std::vector<uint64_t> memory;  // bytes of each
  // Staging buffers in the order in which they are filled: their bytes, and what uses them.
  struct Buffer {
    uint64_t bytes = 0;
    uint32_t fill = 0, use = 0;  // ops: it writes the buffer, it reads it
  };
  std::vector<Buffer> buffers;
};

GraphCase RandomGraph(std::mt19937_64 &random);
// Gives the staging buffers places in a ring of so many bytes.
void PlaceBuffers(GraphCase *graph_case, uint64_t ring);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_RANDOM_GRAPH_H
