// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/nan_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace commsched::runtime {
namespace {

// Bits without the sign are above those of infinity. Bytes need not be aligned.
template <typename Bits>
std::optional<size_t> First(absl::Span<const std::byte> bytes, Bits infinity) {
  constexpr size_t kChunk = 4096;  // is looked through without leaving early
  const Bits magnitude = Bits(~(Bits{1} << (8 * sizeof(Bits) - 1)));
  const size_t count = bytes.size() / sizeof(Bits);
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t end = std::min(count, begin + kChunk);
    size_t found = 0;
    Bits bits;
    for (size_t i = begin; i < end; ++i) {
      std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
      found += Bits(bits & magnitude) > infinity;
    }
    for (size_t i = begin; i < end && found != 0; ++i) {
      std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
      if (Bits(bits & magnitude) > infinity) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<size_t> FirstNan(ops::Element element, absl::Span<const std::byte> bytes) {
  switch (element) {
    case ops::Element::kF64:
      return First<uint64_t>(bytes, uint64_t{0x7ff} << 52);
    case ops::Element::kF32:
      return First<uint32_t>(bytes, 0x7f800000u);
    case ops::Element::kF16:
      return First<uint16_t>(bytes, 0x7c00);
    case ops::Element::kBF16:
      return First<uint16_t>(bytes, 0x7f80);
    default:
      return std::nullopt;
  }
}

}  // namespace commsched::runtime
