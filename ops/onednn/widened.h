// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of f16, and of bf16 where neither library nor processor has it: the
// kernel of f32, on operands that are converted in scratch before it; what it
// computes is rounded once, behind it.
#ifndef COMMSCHED_OPS_ONEDNN_WIDENED_H
#define COMMSCHED_OPS_ONEDNN_WIDENED_H

#include "ops/base/kernel.h"

namespace commsched::ops {

// Whether an operand is f16 or bf16, and the others these or f32.
bool CanWiden(const KernelDesc &desc);
// `make` makes the kernel of f32. CanWiden(desc); throws what `make` throws.
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeWidened(
    const KernelDesc &desc,
    absl::StatusOr<std::unique_ptr<KernelInstance>> (*make)(
        const KernelDesc &));

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_ONEDNN_WIDENED_H
