// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether this machine has what a plan for CUDA devices needs, before anything is made.
#ifndef COMMSCHED_RUNTIME_CUDA_MACHINE_CHECK_H
#define COMMSCHED_RUNTIME_CUDA_MACHINE_CHECK_H

#include <string>

#include "absl/status/status.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

struct MachineNeeds {
  std::string architecture;  // "sm_90": the lowest that code is for; empty: there is no code
  bool nccl = false, cublas_lt = false, cudnn = false;
  int first_device = 0, devices = 1;  // ordinals
};

// "sm_90": 90; 0 if it is none.
int ComputeCapabilityOf(const std::string &architecture);

// kFailedPrecondition, with both: the device is older than what code is for.
absl::Status CheckArchitecture(const DriverApi &driver, int ordinal,
                               const std::string &architecture);

// OK, or in one line what is missing: those of load.h, and kNotFound, fewer devices;
// kFailedPrecondition, a device for which the code is not.
absl::Status CheckMachine(const MachineNeeds &needs,
                          const Libraries &libraries = Libraries::OfSystem());

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_MACHINE_CHECK_H
