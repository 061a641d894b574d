// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank's device costs beside its compute, measured by events on the device: copies between it and pinned
// memory, and all-reduces of NCCL with the other ranks. What comes of it is a part of the file of a calibration
// (docs/costs.md).
#ifndef COMMSCHED_RUNTIME_CUDA_DEVICE_COSTS_H
#define COMMSCHED_RUNTIME_CUDA_DEVICE_COSTS_H

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/nccl_api.h"

namespace commsched::runtime::cuda {

struct DeviceCosts {
  // Of a direction. A copy of n bytes takes the latency and its bytes at the rate.
  struct Copy {
    bool to_host = false;
    int64_t latency_ns = 0;
    int64_t bytes_per_second = 0;
    int64_t both_bytes_per_second = 0;  // while the other direction copies as much
  };
  std::vector<Copy> copies;
  // Of float32, in place, in registered memory; ascending sizes of the buffer.
  struct AllReduce {
    uint64_t bytes = 0;
    int64_t ns = 0;
  };
  std::vector<AllReduce> all_reduces;
};

struct DeviceCostsOptions {
  const DriverApi *driver = nullptr;
  int device = 0;  // its ordinal
  // Null: without all-reduces. Else all ranks measure at the same time, with the same sizes: from 1 KiB on, each four
  // times the one before, to the first that is `largest` at least.
  const NcclApi *nccl = nullptr;
  NcclUniqueId id = {};  // of rank 0's ncclGetUniqueId
  int rank = 0, ranks = 1;
  uint64_t largest = 0;
  absl::Duration deadline = absl::Seconds(30);  // for the device, or NCCL, without progress
};

// Takes about a second, and 64 MiB of the device and of pinned memory, or twice `largest` and more of the device; all
// of it is given back. Errors are those of the driver and of NcclLane.
absl::StatusOr<DeviceCosts> MeasureDevice(const DeviceCostsOptions &options);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_DEVICE_COSTS_H
