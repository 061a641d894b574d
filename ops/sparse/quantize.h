// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values in fewer bits, to be sent. Pure functions of their arguments.
#ifndef COMMSCHED_OPS_SPARSE_QUANTIZE_H
#define COMMSCHED_OPS_SPARSE_QUANTIZE_H

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ops/base/element.h"

namespace commsched::ops::sparse {

// kF16, kBF16: rounded to nearest even; a magnitude beyond the largest finite
// one becomes that. kI8: of each `block` elements (the last block may be
// shorter) the scale is their largest magnitude over 127, in float32, and an
// element the nearest integer of element / scale, ties to even; in a block of
// zeros the scale is 0. kInvalidArgument if an element is NaN or infinite,
// saying how many are and which is the first; the output then holds anything.
// `from`: kF32, kF16, kBF16. `scales`: [ceil(count / block)] float32 for kI8.
absl::Status Quantize(Element from, Element to, const void *values,
                      int64_t count, int64_t block, void *quantized,
                      float *scales);

// The other way round, to kF32, kF16 or kBF16, rounded to nearest even.
void Dequantize(Element from, Element to, const void *quantized, int64_t count,
                int64_t block, const float *scales, void *values);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_QUANTIZE_H
