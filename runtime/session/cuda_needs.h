// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan for CUDA devices needs of the machine on which its ranks run.
#ifndef COMMSCHED_RUNTIME_SESSION_CUDA_NEEDS_H
#define COMMSCHED_RUNTIME_SESSION_CUDA_NEEDS_H

#include "plan/plan.pb.h"
#include "runtime/cuda/machine_check.h"

namespace commsched::runtime {

// Of ranks whose devices are `first_device` and so many from there on, one of each. A rank alone
// needs NCCL for nothing.
cuda::MachineNeeds CudaNeedsOf(const plan::Plan &plan, int first_device, int devices);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_CUDA_NEEDS_H
