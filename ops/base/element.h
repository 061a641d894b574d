// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types and the arithmetic that the runtime itself does on them:
// combining received elements with own ones.
#ifndef COMMSCHED_OPS_BASE_ELEMENT_H
#define COMMSCHED_OPS_BASE_ELEMENT_H

#include <cstddef>
#include <cstdint>

namespace commsched::ops {

// Numbered like plan.proto's ElementType.
enum class Element : uint8_t {
  kF64 = 1,
  kF32 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI64 = 5,
  kI32 = 6,
  kI8 = 7,
  kI1 = 8,  // one byte, 0 or 1
};

enum class Combine : uint8_t {
  kReplace = 0,
  kSum = 1,
  kMax = 2,
  kMin = 3
};

size_t ElementBytes(Element element);
const char *ElementName(Element element);  // "f32"
bool IsFloat(Element element);

// target[i] = combine(target[i], source[i]), then times `scale` if that is not
// 0, for `count` elements. f16 and bf16 are computed in float and rounded to
// nearest even; i1 sum is "or"; a NaN on either side gives NaN. `target` is
// aligned to its element, `source` to one byte; they do not overlap.
// `scale` is for floating-point elements only.
void CombineElements(Element element, Combine combine, double scale,
                     std::byte *target, const std::byte *source, size_t count);

// target[i] *= scale, for floating-point elements.
void ScaleElements(Element element, double scale, std::byte *target,
                   size_t count);

// The element at `source` (aligned to one byte) as a double.
double ReadElement(Element element, const std::byte *source);

float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);  // round to nearest even
float BFloat16ToFloat(uint16_t value);
uint16_t FloatToBFloat16(float value);  // round to nearest even

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_BASE_ELEMENT_H
