// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a floating-point element is kept and computed with, and its magnitude as
// an integer: the bits without the sign, which are ordered as magnitudes are.
#ifndef COMMSCHED_OPS_SPARSE_FLOAT_TYPES_H
#define COMMSCHED_OPS_SPARSE_FLOAT_TYPES_H

#include <bit>
#include <cstdint>

#include "ops/base/element.h"

namespace commsched::ops::sparse {

struct F32 {
  using Storage = float;
  static constexpr int32_t kInfinity = 0x7f800000;
  static constexpr uint32_t kMagnitude = 0x7fffffff;
  static float Load(float v) { return v; }
  static float Store(float v) { return v; }
  static uint32_t Bits(float v) { return std::bit_cast<uint32_t>(v); }
  static float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
};
struct F16 {
  using Storage = uint16_t;
  static constexpr int32_t kInfinity = 0x7c00;
  static constexpr uint32_t kMagnitude = 0x7fff;
  static float Load(uint16_t v) { return HalfToFloat(v); }
  static uint16_t Store(float v) { return FloatToHalf(v); }
  static uint32_t Bits(uint16_t v) { return v; }
  static uint16_t FromBits(uint32_t bits) { return uint16_t(bits); }
};
struct BF16 {
  using Storage = uint16_t;
  static constexpr int32_t kInfinity = 0x7f80;
  static constexpr uint32_t kMagnitude = 0x7fff;
  static float Load(uint16_t v) { return BFloat16ToFloat(v); }
  static uint16_t Store(float v) { return FloatToBFloat16(v); }
  static uint32_t Bits(uint16_t v) { return v; }
  static uint16_t FromBits(uint32_t bits) { return uint16_t(bits); }
};

// function(F32{}), (F16{}) or (BF16{}).
template <typename Function>
auto WithFloat(Element element, Function function) {
  switch (element) {
    case Element::kF16:
      return function(F16{});
    case Element::kBF16:
      return function(BF16{});
    default:
      return function(F32{});
  }
}
// function(int32_t{}) or function(int64_t{}).
template <typename Function>
auto WithIndex(Element index, Function function) {
  if (index == Element::kI32) return function(int32_t{});
  return function(int64_t{});
}

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_FLOAT_TYPES_H
