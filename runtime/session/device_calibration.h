// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a calibration has of CUDA devices: copies, and all-reduces of NCCL.
#ifndef COMMSCHED_RUNTIME_SESSION_DEVICE_CALIBRATION_H
#define COMMSCHED_RUNTIME_SESSION_DEVICE_CALIBRATION_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/calibration/rank_costs.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/session/cuda_rank.h"
#include "runtime/session/session.h"
#include "runtime/transport/transport.h"

namespace commsched::calibration {

struct Devices {
  std::shared_ptr<const runtime::CudaMachine> machine;  // null: the plan is for others
  uint64_t largest = 0;                                 // bytes of a collective of NCCL
};

// Of the options the deadline and the device count; `ranks` are here. Errors: OpenCudaMachine's.
absl::StatusOr<Devices> OpenDevices(const runtime::PlanImage &image, const runtime::SessionOptions &options,
                                    int ranks);

// The device of this rank, which is that of `number` among those here, while all ranks measure; of
// devices without a machine nothing. `transport` may be null if all ranks are here. What a loop on the host's processors has said
// of compute goes: it says nothing of a device's.
absl::Status MeasureDevice(const Devices &devices, runtime::Transport *transport, const runtime::PlanImage &image,
                           int rank, size_t number, absl::Duration deadline, Costs *out);

}  // namespace commsched::calibration

#endif  // COMMSCHED_RUNTIME_SESSION_DEVICE_CALIBRATION_H
