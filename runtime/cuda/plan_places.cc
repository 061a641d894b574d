// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/plan_places.h"

#include <algorithm>

namespace commsched::runtime::cuda {
namespace {

// Of a metric in pinned memory.
constexpr uint64_t kMetricBytes = 8;

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

}  // namespace

SlotPlaces PlaceSlots(const Program &program) {
  SlotPlaces places;
  for (const SlotInfo &slot : program.slots) {
    SlotPlaces::Of &of = places.slots.emplace_back();
    of.held = slot.held;
    if (!slot.held) continue;
    for (uint64_t &copy : of.copies) {
      if (&copy == &of.copies[1] && !slot.written) {
        copy = of.copies[0];
        continue;
      }
      copy = places.bytes;
      places.bytes += Aligned(slot.type.bytes);
    }
  }
  return places;
}

FunctionPlaces::FunctionPlaces(const Program &program, const FunctionProgram &function, const SlotPlaces &slots,
                               size_t compute_lanes)
    : function_(function), slots_(slots) {
  auto &bytes = bytes_;
  bytes[kArenaMemory] = function_.arena_bytes;
  bytes[kHostArenaMemory] = function_.host_arena_bytes;
  bytes[kIndexMemory] = function_.reads_index ? sizeof(int32_t) : 0;
  for (const BatchArgument &batch : function_.batches) {
    batches_.push_back(batch_bytes_);
    batch_bytes_ += Aligned(batch.type.bytes);
  }
  bytes[kBatchMemory] = bytes[kHostBatchMemory] = 2 * batch_bytes_;
  bytes[kHostMetricMemory] = 2 * function_.outputs.size() * kMetricBytes;
  for (const InstructionProgram &i : function_.instructions) {
    if (i.kind != InstructionProgram::kLaunch) continue;
    scratch_bytes_ =
        std::max(scratch_bytes_, program.cuda->fragments[i.launch.fragment].scratch_bytes);
  }
  scratch_bytes_ = Aligned(scratch_bytes_);
  bytes[kScratchMemory] = compute_lanes * scratch_bytes_;
}

DevicePlace FunctionPlaces::OfBuffer(uint32_t buffer, uint32_t call) const {
  const BufferInfo &info = function_.buffers[buffer];
  switch (info.kind) {
    case BufferInfo::kArena:
      return {info.host ? kHostArenaMemory : kArenaMemory, info.offset};
    case BufferInfo::kSlotCurrent:
    case BufferInfo::kSlotNext: {
      const std::vector<uint32_t> &written = function_.written_slots;
      const bool changes = std::find(written.begin(), written.end(), info.slot) != written.end();
      const uint32_t current = changes ? call : 0;
      const bool next = info.kind == BufferInfo::kSlotNext;
      return {kSlotMemory,
              slots_.slots[info.slot].copies[next ? 1 - current : current] + info.offset};
    }
    case BufferInfo::kBatch:
      return {kBatchMemory, call * batch_bytes_ + batches_[info.batch] + info.offset};
    case BufferInfo::kWorkerIndex: return {kIndexMemory, info.offset};
  }
  return {};
}

DevicePlace FunctionPlaces::OfMetric(uint32_t output, uint32_t call) const {
  return {kHostMetricMemory, (call * function_.outputs.size() + output) * kMetricBytes};
}

}  // namespace commsched::runtime::cuda
