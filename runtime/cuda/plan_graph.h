// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a function of a rank's program to the graph of what the rank does on its device: pure data,
// decided once. A round is two calls, as slots change places with every call: op i of the first
// call and op i of the second one are the same instruction, on other copies of slots and batches.
//
// An instruction is one op. Fragments without `deferred` are in the order of the plan on one
// compute stream, those with it on another: their plan orders them by dependences alone. Copies are
// on the engine of their direction, collectives of NCCL on its stream in the order of their
// numbers, and messages on the host, each on a lane of its own. Besides, a call has for each batch
// a host op that fills pinned memory and a copy to the device, for each metric a copy to the host
// behind the last instruction that writes it, and at the end a host op behind all others: with it
// the call is complete.
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
#include "runtime/cuda/step_graph.h"
#include "runtime/program/program.h"

namespace commsched::runtime::cuda {

// The memories of ranges: of the device, then pinned ones. Slots are those of a program, the
// others of a function.
enum MemoryKind : uint32_t {
  kArenaMemory,
  kSlotMemory,
  kBatchMemory,    // of two calls
  kScratchMemory,  // of fragments, for each compute stream
  kIndexMemory,    // the worker's index
  kHostArenaMemory,
  kHostBatchMemory,   // of two calls
  kHostMetricMemory,  // the same
  kMemoryKinds
};
inline bool IsPinned(uint32_t memory) { return memory >= kHostArenaMemory; }

// What is allocated begins at multiples of it.
inline constexpr uint64_t kDeviceAlignment = 256;

struct DevicePlace {
  uint32_t memory = 0;
  uint64_t offset = 0;
  bool operator==(const DevicePlace &) const = default;
};

// Where the two copies of each slot are in kSlotMemory; one copy where no function writes it, none
// where the role does not hold it.
struct SlotPlaces {
  struct Of {
    bool held = false;
    std::array<uint64_t, 2> copies = {};
  };
  std::vector<Of> slots;
  uint64_t bytes = 0;
};
SlotPlaces PlaceSlots(const Program &program);

// What an op does.
struct DeviceOp {
  enum Kind {
    kLaunch,
    kCopy,
    kCollective,
    kMessage,    // on the host
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
  // the input, the output, the buffer again for each that is not there. kFillBatch: to.
  // kEndOfCall: the metrics.
  std::vector<DevicePlace> places;
};

struct PlanGraph {
  StepGraph graph;
  std::vector<DeviceOp> work;  // of each op
  uint32_t second_call = 0;    // its first op; the ops of the first one are before it
  // Bytes of each memory, but for kSlotMemory.
  std::array<uint64_t, kMemoryKinds> bytes = {};

  // The first op behind those of the call.
  uint32_t end(uint32_t call) const {
    return call == 0 ? second_call : uint32_t(graph.ops.size());
  }
};

// kUnimplemented, with the instruction: several devices in a node, messages between single ranks
// and to servers, fragments without code, more than one communicator. kInvalidArgument: collectives
// whose numbers do not go with dependences.
absl::StatusOr<PlanGraph> MakePlanGraph(const Program &program, const FunctionProgram &function,
                                        const SlotPlaces &slots);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_PLAN_GRAPH_H
