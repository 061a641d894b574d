// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as plain loops: for element types and layouts that the library
// lacks, and as what the tests compare with. Any strides, any floating-point
// or integer element type; f16 and bf16 are computed in float.
#ifndef COMMSCHED_OPS_REFERENCE_REFERENCE_H
#define COMMSCHED_OPS_REFERENCE_REFERENCE_H

#include "ops/base/kernel.h"

namespace commsched::ops {

// `desc` has passed CheckMatmul or CheckConvolution.
std::unique_ptr<KernelInstance> MakeReferenceMatmul(const KernelDesc &desc);
std::unique_ptr<KernelInstance> MakeReferenceConvolution(
    const KernelDesc &desc);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_REFERENCE_REFERENCE_H
