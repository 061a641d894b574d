// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan's code for CUDA devices. Used by the plan loader only.
#ifndef COMMSCHED_RUNTIME_LOADING_PLAN_CUDA_H
#define COMMSCHED_RUNTIME_LOADING_PLAN_CUDA_H

#include "absl/status/statusor.h"
#include "plan/cuda_launch.h"
#include "plan/plan.pb.h"

namespace commsched::runtime {

inline bool IsCudaPlan(const plan::Plan &plan) {
  return (plan.required_features() >> plan::FEATURE_CUDA) & 1;
}

// Checked, but for what buffers there must be behind inputs and outputs: only a launch knows
// these. Scratch is there, kernels have names that the PTX defines, grids and blocks are such as
// sm_90 takes, and library calls name kernels of the plan with as many operands.
absl::StatusOr<plan::CudaModule> ConvertCuda(const plan::Plan &plan);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_PLAN_CUDA_H
