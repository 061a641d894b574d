// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which host ops of a graph may begin: those that are the next on their lane, of a round that has
// been enqueued, when what they wait for has ended. A machine as those of runtime/core: its driver
// polls events, sends and receives messages, and tells it what has ended. Not for several threads.
#ifndef COMMSCHED_RUNTIME_CUDA_HOST_LANES_H
#define COMMSCHED_RUNTIME_CUDA_HOST_LANES_H

#include <compare>
#include <cstdint>
#include <vector>

#include "runtime/cuda/issue_plan.h"
#include "runtime/cuda/step_graph.h"

namespace commsched::runtime::cuda {

// An op of a round.
struct OpOfRound {
  uint32_t op = 0;
  uint64_t round = 0;
  friend auto operator<=>(const OpOfRound &, const OpOfRound &) = default;
};

class HostLanes {
 public:
  // Both outlive it.
  HostLanes(const StepGraph &graph, const IssuePlan &plan);

  // Whether the next round, or what is left of it, may be enqueued: its events and flags are free.
  bool MayEnqueue() const;
  // It has been; or its ops before `end`.
  void Enqueued() { Enqueued(uint32_t(graph_.ops.size())); }
  void Enqueued(uint32_t end) {
    ops_enqueued_ = end;
    if (end < graph_.ops.size()) return;
    ops_enqueued_ = 0;
    ++enqueued_;
  }

  // The host ops that may begin now and have not been taken before.
  std::vector<OpOfRound> TakeReady();
  // What ops at the head of their lanes wait for on the device.
  std::vector<OpOfRound> Awaited() const;
  // An op has ended, in this round: on the device, or a host op that was taken.
  void Ended(const OpOfRound &ended);

  // Whether all host ops that have been enqueued have ended.
  bool Idle() const;

 private:
  struct HostLane {
    std::vector<uint32_t> ops;
    size_t next = 0;
    uint64_t round = 0;
    bool running = false;
  };
  // Whether the head of a lane has been enqueued.
  bool IsEnqueued(const HostLane &lane) const {
    return lane.round < enqueued_ ||
           (lane.round == enqueued_ && lane.ops[lane.next] < ops_enqueued_);
  }
  // What the head of a lane waits for still.
  template <typename F>
  void ForEachOpen(const HostLane &lane, F f) const;

  const StepGraph &graph_;
  const IssuePlan &plan_;
  std::vector<HostLane> lanes_;    // of the host only
  std::vector<uint32_t> lane_of_;  // of an op, in lanes_
  std::vector<uint64_t> ended_;    // rounds of each op
  uint64_t enqueued_ = 0;          // whole rounds
  uint32_t ops_enqueued_ = 0;      // of the next one
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_HOST_LANES_H
