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

  // Whether the next round may be enqueued: its events and flags are free.
  bool MayEnqueue() const;
  // It has been.
  void Enqueued() { ++enqueued_; }

  // The host ops that may begin now and have not been taken before.
  std::vector<OpOfRound> TakeReady();
  // What ops at the head of their lanes wait for on the device.
  std::vector<OpOfRound> Awaited() const;
  // An op has ended, in this round: on the device, or a host op that was taken.
  void Ended(const OpOfRound &ended);

  // Whether all host ops of all enqueued rounds have ended.
  bool Idle() const;

 private:
  struct HostLane {
    std::vector<uint32_t> ops;
    size_t next = 0;
    uint64_t round = 0;
    bool running = false;
  };
  // What the head of a lane waits for still.
  template <typename F>
  void ForEachOpen(const HostLane &lane, F f) const;

  const StepGraph &graph_;
  const IssuePlan &plan_;
  std::vector<HostLane> lanes_;    // of the host only
  std::vector<uint32_t> lane_of_;  // of an op, in lanes_
  std::vector<uint64_t> ended_;    // rounds of each op
  uint64_t enqueued_ = 0;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_HOST_LANES_H
