// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a function of a rank's program to the graph of what the rank does on its device: pure data,
// decided once. A round is two calls, as slots change places with every call: op i of the first
// call and op i of the second one are the same instruction, on other copies of slots and batches.
//
// An instruction is one op, on a stream that plan_order.h chooses, or, if it is a message, on a lane
// of the host of its own. Besides, a call has for each batch a host op that fills pinned memory and a
// copy to the device, for each metric a copy to the host behind the last instruction that writes it,
// both on streams of their own, and at the end a host op behind all others: with it the call is
// complete. So the copy of a batch waits for nothing of its call, nor of the one before.
//
// What orders ops is their memory (step_graph.h), and a dependence of the plan where their memory
// does not: `after`. All ranks have the same order of ops, in which everything waits for what is
// before it only; so no two ranks wait for each other, though streams hold up what is behind.
#ifndef COMMSCHED_RUNTIME_CUDA_PLAN_GRAPH_H
#define COMMSCHED_RUNTIME_CUDA_PLAN_GRAPH_H

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/plan_places.h"
#include "runtime/cuda/step_graph.h"
#include "runtime/program/plan_order.h"
#include "runtime/program/program.h"

namespace commsched::runtime::cuda {

// What an op does.
struct DeviceOp {
  enum Kind {
    kLaunch,
    kCopy,
    kCollective,
    kMessage,    // on the host: between ranks, or to or from a parameter server
    kFillBatch,  // on the host
    kEndOfCall   // on the host
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  Kind kind = kLaunch;
  uint32_t call = 0;             // 0 or 1: of the round
  uint32_t instruction = kNone;  // of the plan; kNone: of none
  uint32_t batch = 0;            // kFillBatch
  uint64_t bytes = 0;            // kCopy, kFillBatch; of kCollective, of `from`
  // kLaunch: the operands, then the scratch. kCopy, kCollective: from, to. kMessage: the buffer,
  // the input, the output, the buffer again for each that is not there; of a push or a pull, the
  // buffer; of rows of a table, the values, the ids. kFillBatch: to. kEndOfCall: the metrics.
  std::vector<DevicePlace> places;
};

struct PlanGraph {
  StepGraph graph;
  std::vector<PlanLane> lanes;  // of each lane; the compute streams come first
  std::vector<DeviceOp> work;   // of each op
  uint32_t second_call = 0;     // its first op; the ops of the first one are before it
  // Bytes of each memory, but for kSlotMemory.
  std::array<uint64_t, kMemoryKinds> bytes = {};

  // The first op behind those of the call.
  uint32_t end(uint32_t call) const {
    return call == 0 ? second_call : uint32_t(graph.ops.size());
  }
};

// kUnimplemented, with the instruction: several devices in a node, messages between single ranks,
// fragments without code, more than one communicator. kInvalidArgument: collectives
// whose numbers do not go with dependences.
absl::StatusOr<PlanGraph> MakePlanGraph(const Program &program, const FunctionProgram &function,
                                        const SlotPlaces &slots);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_PLAN_GRAPH_H
