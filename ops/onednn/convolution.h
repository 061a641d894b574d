// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions (ops/base/convolution_shape.h) by oneDNN.
#ifndef COMMSCHED_OPS_ONEDNN_CONVOLUTION_H
#define COMMSCHED_OPS_ONEDNN_CONVOLUTION_H

#include "ops/base/convolution_shape.h"

namespace commsched::ops {

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeConvolution(
    const KernelDesc &desc);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_ONEDNN_CONVOLUTION_H
