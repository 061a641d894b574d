// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the values of a function of a plan are on a device and in pinned memory.
#ifndef COMMSCHED_RUNTIME_CUDA_PLAN_PLACES_H
#define COMMSCHED_RUNTIME_CUDA_PLAN_PLACES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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

// Of one function, in two calls: slots change places with every call, and batches and metrics are apart.
class FunctionPlaces {
 public:
  // `compute_lanes`: compute streams, each of which has scratch of its own. Refers to all of these.
  FunctionPlaces(const Program &program, const FunctionProgram &function, const SlotPlaces &slots, size_t compute_lanes);

  // Bytes of each memory, but for kSlotMemory.
  const std::array<uint64_t, kMemoryKinds> &bytes() const { return bytes_; }
  DevicePlace OfBuffer(uint32_t buffer, uint32_t call) const;
  // In pinned memory; on the device a batch has the same offset in kBatchMemory.
  DevicePlace OfHostBatch(uint32_t batch, uint32_t call) const {
    return {kHostBatchMemory, call * batch_bytes_ + batches_[batch]};
  }
  DevicePlace OfMetric(uint32_t output, uint32_t call) const;
  DevicePlace OfScratch(uint32_t lane) const { return {kScratchMemory, lane * scratch_bytes_}; }

 private:
  const FunctionProgram &function_;
  const SlotPlaces &slots_;
  std::array<uint64_t, kMemoryKinds> bytes_ = {};
  std::vector<uint64_t> batches_;  // of one call
  uint64_t batch_bytes_ = 0, scratch_bytes_ = 0;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_PLAN_PLACES_H
