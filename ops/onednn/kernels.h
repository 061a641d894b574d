// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_OPS_ONEDNN_KERNELS_H
#define COMMSCHED_OPS_ONEDNN_KERNELS_H

#include "ops/base/kernel.h"

namespace commsched::ops {

// "matmul", "convolution_forward", "convolution_backward_data",
// "convolution_backward_weights".
void AddOneDnnKernels(KernelFamilies *kinds);

// Restricts the calling thread to kernels on one core.
void PrepareOneDnnThread();

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_ONEDNN_KERNELS_H
