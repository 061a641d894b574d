// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers in memory, as fakes of libraries read and write them; f16 and bf16 are rounded to nearest even. In the header, as
// they are read one by one.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_NUMBERS_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_NUMBERS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/base/element.h"

namespace commsched::runtime::cuda {

// Of f64, f32, f16 or bf16.
inline double ReadNumber(ops::Element element, const std::byte *at) {
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (element) {
    case ops::Element::kF32: return double(as(float{}));
    case ops::Element::kF64: return as(double{});
    case ops::Element::kF16: return double(as(_Float16{}));
    default: {
      const uint32_t bits = uint32_t(as(uint16_t{})) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return double(value);
    }
  }
}

inline void WriteNumber(ops::Element element, double value, std::byte *at) {
  const auto put = [at](auto rounded) { std::memcpy(at, &rounded, sizeof(rounded)); };
  switch (element) {
    case ops::Element::kF32: return put(float(value));
    case ops::Element::kF64: return put(value);
    case ops::Element::kF16: return put(_Float16(float(value)));
    default: {
      const auto single = float(value);
      uint32_t bits;
      std::memcpy(&bits, &single, sizeof(bits));
      put(uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
    }
  }
}

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_NUMBERS_H
