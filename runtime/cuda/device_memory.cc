// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/device_memory.h"

#include "absl/strings/str_cat.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/memory_needs.h"

namespace commsched::runtime::cuda {
namespace {

absl::Status NoMemory(absl::string_view what, uint64_t bytes, absl::string_view why) {
  return absl::ResourceExhaustedError(absl::StrCat(what, " of ", bytes, " bytes: ", why));
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (DevicePtr memory : device_) {
    if (nccl_ != nullptr)
      nccl_->MemFree(reinterpret_cast<void *>(memory));
    else
      driver_.MemFree(memory);
  }
  for (void *memory : pinned_) driver_.MemFreeHost(memory);
}

absl::StatusOr<DevicePtr> DeviceMemory::Allocate(uint64_t bytes, absl::string_view what) {
  bytes = AllocatedBytes(bytes);
  DevicePtr memory = 0;
  if (nccl_ != nullptr) {
    void *made = nullptr;
    if (const NcclResult result = nccl_->MemAlloc(&made, bytes); result != NcclResult::kSuccess)
      return NoMemory(what, bytes, nccl_->GetErrorString(result));
    memory = reinterpret_cast<uintptr_t>(made);
  } else if (absl::Status status =
                 ToStatus(driver_, driver_.MemAlloc(&memory, bytes), "cuMemAlloc");
             !status.ok()) {
    return NoMemory(what, bytes, status.message());
  }
  device_.push_back(memory);
  device_bytes_ += bytes;
  return memory;
}

absl::StatusOr<DevicePtr> DeviceMemory::AllocatePinned(uint64_t bytes, absl::string_view what) {
  bytes = AllocatedBytes(bytes);
  void *memory = nullptr;
  if (absl::Status status = ToStatus(
          driver_, driver_.MemHostAlloc(&memory, bytes, kHostAllocPortable), "cuMemHostAlloc");
      !status.ok())
    return NoMemory(what, bytes, status.message());
  pinned_.push_back(memory);
  pinned_bytes_ += bytes;
  return reinterpret_cast<uintptr_t>(memory);
}

}  // namespace commsched::runtime::cuda
