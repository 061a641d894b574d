// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank allocates on its device and of pinned memory, given back together.
#ifndef COMMSCHED_RUNTIME_CUDA_DEVICE_MEMORY_H
#define COMMSCHED_RUNTIME_CUDA_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/nccl_api.h"

namespace commsched::runtime::cuda {

// Not for several threads at once; the context is current in all calls, and when it is destroyed.
class DeviceMemory {
 public:
  // `nccl` may be null; both outlive it.
  DeviceMemory(const DriverApi &driver, const NcclApi *nccl) : driver_(driver), nccl_(nccl) {}
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory();

  // Bytes of the device, from a multiple of kNcclWindowAlignment on where NCCL allocates them, which
  // can then be registered as a window, else of 256. At least 1. `what` is for errors:
  // kResourceExhausted.
  absl::StatusOr<DevicePtr> Allocate(uint64_t bytes, absl::string_view what);
  // Pinned memory, at one address for host and device.
  absl::StatusOr<DevicePtr> AllocatePinned(uint64_t bytes, absl::string_view what);

  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t pinned_bytes() const { return pinned_bytes_; }

 private:
  const DriverApi &driver_;
  const NcclApi *const nccl_;
  std::vector<DevicePtr> device_;
  std::vector<void *> pinned_;
  uint64_t device_bytes_ = 0, pinned_bytes_ = 0;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_DEVICE_MEMORY_H
