// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is to be enqueued besides the ops of a graph: which op waits for which ops of other lanes,
// and behind which ops there is a signal. Decided once, before the first round: without threads,
// clocks and CUDA.
//
// The waits are the transitive reduction of the orders that the graph asks for, given that lanes
// are in order: without any one of them an order would be missing, and every other set of waits
// with the same orders contains them. It is that of the infinite sequence of rounds, which is the
// same in each but the first: a path from an op to another never leaves the rounds between them, so
// what is implied depends on two rounds only.
#ifndef COMMSCHED_RUNTIME_CUDA_ISSUE_PLAN_H
#define COMMSCHED_RUNTIME_CUDA_ISSUE_PLAN_H

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/step_graph.h"

namespace commsched::runtime::cuda {

// A round may be enqueued when all host ops of the one so many before it have ended.
inline constexpr uint32_t kRoundsInFlight = 2;

struct IssueOp {
  // What its lane waits for first; those of the round before not in round 0. By order of ops, one
  // of a lane at most.
  std::vector<Dependence> waits;
  // Whether another lane waits for its end: an event is recorded behind it, or, on a host lane, a
  // flag in pinned memory set to the number of rounds in which it has ended.
  bool signals = false;
  // Of how many rounds the events must be told apart: round r uses event r mod `events`. An event
  // may be recorded again when all waits for it have been enqueued, and host lanes have seen it.
  uint32_t events = 0;
};

struct IssuePlan {
  std::vector<IssueOp> ops;  // as those of the graph

  size_t waits() const;
  size_t signals() const;
};

// kInvalidArgument: a lane or an op that is not there; a dependence on an op that is enqueued
// later; a range of no bytes, or beyond 2^64.
absl::StatusOr<IssuePlan> PlanIssue(const StepGraph &graph);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_ISSUE_PLAN_H
