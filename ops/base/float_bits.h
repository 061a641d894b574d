// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of 16-bit floating-point numbers by their bits, so that no machine
// flushes or rounds otherwise. For the CPU, and for nvcc.
#ifndef COMMSCHED_OPS_BASE_FLOAT_BITS_H
#define COMMSCHED_OPS_BASE_FLOAT_BITS_H

#include <cstdint>

#ifdef __CUDACC__
#define COMMSCHED_HOST_DEVICE __host__ __device__
#else
#define COMMSCHED_HOST_DEVICE
#endif

namespace commsched::ops::bits {

COMMSCHED_HOST_DEVICE inline float ToFloat(uint32_t v) {
  return __builtin_bit_cast(float, v);
}
COMMSCHED_HOST_DEVICE inline uint32_t FromFloat(float v) {
  return __builtin_bit_cast(uint32_t, v);
}

COMMSCHED_HOST_DEVICE inline float BFloat16ToFloat(uint16_t value) {
  return ToFloat(uint32_t(value) << 16);
}

// To nearest even, as the other.
COMMSCHED_HOST_DEVICE inline uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = FromFloat(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  // Rounding must not turn a NaN into an infinity.
  return uint16_t(value != value ? (bits >> 16) | 0x40 : rounded);
}

COMMSCHED_HOST_DEVICE inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00)  // infinity, NaN
    return ToFloat(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  // Moves the exponent by a multiplication, which is exact and also takes
  // care of subnormal numbers.
  const float shifted = ToFloat(magnitude << 13) * 0x1p112f;
  return ToFloat(sign | FromFloat(shifted));
}

COMMSCHED_HOST_DEVICE inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = FromFloat(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // to infinity
  if (magnitude < 0x38800000)
    // Subnormal half: adding 0.5 puts the rounding where it belongs.
    return uint16_t(sign | (FromFloat(ToFloat(magnitude) + 0.5f) - 0x3f000000));
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace commsched::ops::bits

#endif  // COMMSCHED_OPS_BASE_FLOAT_BITS_H
