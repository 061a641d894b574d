// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank does in a step on a device, as data: ops on lanes, and the memory that they read
// and write. Nothing here knows what an op is: a kernel, a copy, a collective, a message.
#ifndef COMMSCHED_RUNTIME_CUDA_STEP_GRAPH_H
#define COMMSCHED_RUNTIME_CUDA_STEP_GRAPH_H

#include <cstdint>
#include <string>
#include <vector>

namespace commsched::runtime::cuda {

// Bytes begin .. begin + bytes - 1 of a memory: an arena of the device, pinned memory.
struct Range {
  uint32_t memory = 0;
  uint64_t begin = 0, bytes = 0;
};

// What runs its ops one after the other, in the order of the graph: a stream, or a thread of
// control on the host, such as all that a message of one key does.
enum class LaneKind {
  kCompute,
  kToHost,
  kToDevice,
  kNccl,
  kHost
};
struct Lane {
  std::string name;
  LaneKind kind = LaneKind::kCompute;
  bool host() const { return kind == LaneKind::kHost; }
};

// On an op of this round, or of the round before.
struct Dependence {
  uint32_t op = 0;
  bool previous = false;
};

struct Op {
  std::string name;  // for errors and traces
  uint32_t lane = 0;
  std::vector<Range> reads, writes;
  // Besides what follows from `reads` and `writes`.
  std::vector<Dependence> after;
};

// A round, which is repeated: a step; or, where slots change places with every step, two. `ops`
// is the order in which they are enqueued. Of two ops of which one writes what the other reads or
// writes, the later one in this order, or in a later round, begins when the earlier one has ended.
struct StepGraph {
  std::vector<Lane> lanes;
  std::vector<Op> ops;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_STEP_GRAPH_H
