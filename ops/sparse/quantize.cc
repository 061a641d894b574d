// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/quantize.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/sparse/float_types.h"

namespace commsched::ops::sparse {
namespace {

constexpr float kLevels = 127;

template <typename F>
absl::Status CheckFinite(const void *values, int64_t count) {
  const auto *v = static_cast<const typename F::Storage *>(values);
  int64_t bad = 0, first = 0;
  for (int64_t i = 0; i < count; ++i)
    bad += int32_t(F::Bits(v[i]) & F::kMagnitude) >= F::kInfinity;
  if (bad == 0) return absl::OkStatus();
  while (int32_t(F::Bits(v[first]) & F::kMagnitude) < F::kInfinity) ++first;
  return absl::InvalidArgumentError(absl::StrCat(
      bad, " of ", count,
      " elements are NaN or infinite, the first is element ", first));
}

template <typename From, typename To>
void EncodeFloats(const void *values, int64_t count, void *quantized) {
  const auto *v = static_cast<const typename From::Storage *>(values);
  auto *q = static_cast<typename To::Storage *>(quantized);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = To::Bits(To::Store(From::Load(v[i])));
    if (int32_t(bits & To::kMagnitude) >= To::kInfinity) --bits;
    q[i] = To::FromBits(bits);
  }
}

template <typename From>
void EncodeIntegers(const void *values, int64_t count, int64_t block,
                    void *quantized, float *scales) {
  const auto *v = static_cast<const typename From::Storage *>(values);
  auto *q = static_cast<int8_t *>(quantized);
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t end = begin + std::min(block, count - begin);
    float largest = 0;
    for (int64_t i = begin; i < end; ++i)
      largest = std::max(largest, std::fabs(From::Load(v[i])));
    const float scale = largest / kLevels;
    *scales++ = scale;
    // A scale may be rounded so far down, near 0, that a quotient is larger.
    for (int64_t i = begin; i < end; ++i)
      q[i] = scale == 0 ? 0
                        : int8_t(std::nearbyint(std::clamp(
                              From::Load(v[i]) / scale, -kLevels, kLevels)));
  }
}

template <typename From, typename To>
void Decode(const void *quantized, int64_t count, void *values) {
  const auto *q = static_cast<const typename From::Storage *>(quantized);
  auto *v = static_cast<typename To::Storage *>(values);
  for (int64_t i = 0; i < count; ++i) v[i] = To::Store(From::Load(q[i]));
}

template <typename To>
void DecodeIntegers(const void *quantized, int64_t count, int64_t block,
                    const float *scales, void *values) {
  const auto *q = static_cast<const int8_t *>(quantized);
  auto *v = static_cast<typename To::Storage *>(values);
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t end = begin + std::min(block, count - begin);
    const float scale = *scales++;
    for (int64_t i = begin; i < end; ++i) v[i] = To::Store(float(q[i]) * scale);
  }
}

}  // namespace

absl::Status Quantize(Element from, Element to, const void *values,
                      int64_t count, int64_t block, void *quantized,
                      float *scales) {
  return WithFloat(from, [&](auto f) {
    using From = decltype(f);
    absl::Status s = CheckFinite<From>(values, count);
    if (!s.ok()) return s;
    if (to == Element::kI8)
      EncodeIntegers<From>(values, count, block, quantized, scales);
    else
      WithFloat(to, [&](auto t) {
        EncodeFloats<From, decltype(t)>(values, count, quantized);
      });
    return s;
  });
}

void Dequantize(Element from, Element to, const void *quantized, int64_t count,
                int64_t block, const float *scales, void *values) {
  WithFloat(to, [&](auto t) {
    using To = decltype(t);
    if (from == Element::kI8)
      DecodeIntegers<To>(quantized, count, block, scales, values);
    else
      WithFloat(from, [&](auto f) {
        Decode<decltype(f), To>(quantized, count, values);
      });
  });
}

}  // namespace commsched::ops::sparse
