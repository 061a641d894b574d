// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/cuda_needs.h"

#include "absl/strings/match.h"

namespace commsched::runtime {

cuda::MachineNeeds CudaNeedsOf(const plan::Plan &plan, int first_device, int devices) {
  cuda::MachineNeeds needs;
  needs.architecture = plan.cuda().architecture();
  needs.first_device = first_device;
  needs.devices = devices;
  needs.nccl =
      plan.cluster().nodes() > 1 && ((plan.required_features() >> plan::FEATURE_NCCL) & 1) != 0;
  for (const plan::Cuda::Fragment &fragment : plan.cuda().fragments())
    for (const plan::Cuda::Step &step : fragment.steps()) {
      if (!step.has_library() || step.library().kernel() >= uint32_t(plan.kernels_size())) continue;
      const plan::Kernel &kernel = plan.kernels(int(step.library().kernel()));
      (absl::StartsWith(kernel.kind(), "convolution") ? needs.cudnn : needs.cublas_lt) = true;
    }
  return needs;
}

}  // namespace commsched::runtime
