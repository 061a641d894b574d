// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of f32 and f64 with the vectors that the machine has: each element as one addition
// and, with a factor, one multiplication give it, rounded after each, so that the bits do
// not depend on the machine (but for the payload of a NaN).
#ifndef COMMSCHED_OPS_BASE_FLOAT_SUMS_H
#define COMMSCHED_OPS_BASE_FLOAT_SUMS_H

#include <cstddef>

namespace commsched::ops {

// target[i] = (target[i] + source[i]) * factor. They do not overlap; `source` may have any
// alignment.
void AddFloats(float *target, const std::byte *source, float factor, size_t count);
void AddFloats(double *target, const std::byte *source, double factor, size_t count);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_BASE_FLOAT_SUMS_H
