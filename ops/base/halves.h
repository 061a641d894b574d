// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of 16-bit floating-point numbers as f32, and back: what
// BFloat16ToFloat, HalfToFloat, FloatToBFloat16 and FloatToHalf give, except
// for the payload of a NaN, with the vectors that the machine has.
#ifndef COMMSCHED_OPS_BASE_HALVES_H
#define COMMSCHED_OPS_BASE_HALVES_H

#include <cstddef>
#include <cstdint>

#include "ops/base/element.h"

namespace commsched::ops {

inline bool IsHalf(Element element) {
  return element == Element::kF16 || element == Element::kBF16;
}

// `element` is kF16 or kBF16. The rows do not overlap; any alignment of
// elements.
void WidenRow(Element element, const uint16_t *from, float *to, size_t count);
// Rounds to the nearest, to even between two.
void NarrowRow(Element element, const float *from, uint16_t *to, size_t count);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_BASE_HALVES_H
