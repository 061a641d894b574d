// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which stream of a CUDA device an instruction of a plan is on, and which one it comes behind there: what is enqueued, and
// what a device that is simulated or emulated does as well.
//
// A stream is in order: what waits at its head holds up all behind it. A message comes when it comes,
// so what waits for messages is on streams of its own, apart by who waits for it:
//
// - What a communication of the same call waits for, as the second stage of a hierarchical exchange
//   does, is in the order of the plan: it holds up communications and nothing else.
// - What none waits for, as new parameters and their updates, is in the order in which the compute
//   stream needs it, in this call or in those behind it. So it waits for no message but those that
//   the compute that first needs it has to wait for anyway. Collectives of NCCL come in the order of
//   their numbers, so what waits for them alone is in that order.
//
// Nothing of the first kind waits for anything of the second.
#ifndef COMMSCHED_RUNTIME_PROGRAM_PLAN_ORDER_H
#define COMMSCHED_RUNTIME_PROGRAM_PLAN_ORDER_H

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

enum class PlanLane {
  kCompute,  // fragments, and copies in line, in the order of the plan
  // Deferred ones; the first for which a communication of the same call waits.
  kDeferredFirst,
  kDeferred,
  // Copies. The second ones to the host are of what has been communicated in the same call; the first
  // ones to the device are those for which a communication of the same call waits.
  kToHost,
  kToHostAgain,
  kToDeviceFirst,
  kToDevice,
  kBatches,  // to the device; of no instruction
  kMetrics,  // to the host; the same
  kNccl,     // collectives, in the order of their numbers
  kHost      // messages
};

struct PlanOrder {
  // In which instructions are enqueued: each behind what it waits for in the same call, and behind
  // those that come before it on its stream. As early as that allows, so nearly that of the plan.
  std::vector<uint32_t> order;
  std::vector<PlanLane> lanes;  // of each instruction
};

// Of a function that one device runs. kInvalidArgument: the numbers of its collectives do not go
// with its dependences.
absl::StatusOr<PlanOrder> OrderInstructions(const FunctionProgram &function);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PROGRAM_PLAN_ORDER_H
