// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/host_lanes.h"

#include <algorithm>

namespace commsched::runtime::cuda {

HostLanes::HostLanes(const StepGraph &graph, const IssuePlan &plan)
    : graph_(graph), plan_(plan), lane_of_(graph.ops.size()), ended_(graph.ops.size(), 0) {
  std::vector<uint32_t> number(graph.lanes.size());
  for (uint32_t lane = 0; lane < graph.lanes.size(); ++lane) {
    if (!graph.lanes[lane].host()) continue;
    number[lane] = uint32_t(lanes_.size());
    lanes_.emplace_back();
  }
  for (uint32_t op = 0; op < graph.ops.size(); ++op) {
    const uint32_t lane = graph.ops[op].lane;
    if (!graph.lanes[lane].host()) continue;
    lane_of_[op] = number[lane];
    lanes_[number[lane]].ops.push_back(op);
  }
  // A lane without ops is not in the way.
  for (HostLane &lane : lanes_) {
    if (lane.ops.empty()) lane.round = UINT64_MAX;
  }
}

bool HostLanes::MayEnqueue() const {
  if (enqueued_ < kRoundsInFlight) return true;
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const HostLane &lane) {
    return lane.round > enqueued_ - kRoundsInFlight;
  });
}

bool HostLanes::Idle() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [&](const HostLane &lane) { return !IsEnqueued(lane); });
}

template <typename F>
void HostLanes::ForEachOpen(const HostLane &lane, F f) const {
  for (const Dependence &wait : plan_.ops[lane.ops[lane.next]].waits) {
    if (wait.previous && lane.round == 0) continue;
    const uint64_t round = lane.round - (wait.previous ? 1 : 0);
    if (ended_[wait.op] <= round) f(OpOfRound{wait.op, round});
  }
}

std::vector<OpOfRound> HostLanes::TakeReady() {
  std::vector<OpOfRound> ready;
  for (HostLane &lane : lanes_) {
    if (lane.running || !IsEnqueued(lane)) continue;
    bool open = false;
    ForEachOpen(lane, [&open](const OpOfRound &) { open = true; });
    if (open) continue;
    lane.running = true;
    ready.push_back({lane.ops[lane.next], lane.round});
  }
  return ready;
}

std::vector<OpOfRound> HostLanes::Awaited() const {
  std::vector<OpOfRound> awaited;
  for (const HostLane &lane : lanes_) {
    if (lane.running || !IsEnqueued(lane)) continue;
    ForEachOpen(lane, [&](const OpOfRound &on) {
      if (!graph_.lanes[graph_.ops[on.op].lane].host()) awaited.push_back(on);
    });
  }
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  return awaited;
}

void HostLanes::Ended(const OpOfRound &ended) {
  ended_[ended.op] = std::max(ended_[ended.op], ended.round + 1);
  if (!graph_.lanes[graph_.ops[ended.op].lane].host()) return;
  HostLane &lane = lanes_[lane_of_[ended.op]];
  lane.running = false;
  if (++lane.next < lane.ops.size()) return;
  lane.next = 0;
  ++lane.round;
}

}  // namespace commsched::runtime::cuda
