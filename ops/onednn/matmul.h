// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kind "matmul": C = A B, or C += A B.
//   operands: A [b..., m, k], B [b..., k, n], C [b..., m, n]; 0 to 3 batch
//   dimensions, equal in all three; any strides (0 in A and B repeats).
//   attributes: none.
// Sums are kept in f32, of f64 in f64, and rounded once to C's type, whatever k.
// oneDNN does f32, and bf16 (C f32 or bf16) where the processor multiplies it;
// f16, and bf16 elsewhere, are converted to f32 for it (widened.h). What it
// cannot do goes to plain loops, for every type.
#ifndef COMMSCHED_OPS_ONEDNN_MATMUL_H
#define COMMSCHED_OPS_ONEDNN_MATMUL_H

#include "ops/base/kernel.h"

namespace commsched::ops {

absl::Status CheckMatmul(const KernelDesc &desc);
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeMatmul(
    const KernelDesc &desc);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_ONEDNN_MATMUL_H
