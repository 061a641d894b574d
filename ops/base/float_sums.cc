// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/base/float_sums.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/base/float_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace commsched::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class F>
void Add(F *HWY_RESTRICT target, const std::byte *HWY_RESTRICT source, F factor, size_t count) {
  const hn::ScalableTag<F> d;
  const size_t lanes = hn::Lanes(d);
  const auto factors = hn::Set(d, factor);
  const auto *from = reinterpret_cast<const F *>(source);  // read by LoadU only
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::Add(hn::LoadU(d, target + i), hn::LoadU(d, from + i));
    hn::StoreU(hn::Mul(sum, factors), d, target + i);
  }
  for (; i < count; ++i) {
    F value;
    std::memcpy(&value, source + i * sizeof(F), sizeof(F));
    const F sum = target[i] + value;
    target[i] = sum * factor;
  }
}

void AddF32(float *target, const std::byte *source, float factor, size_t count) {
  Add(target, source, factor, count);
}
void AddF64(double *target, const std::byte *source, double factor, size_t count) {
  Add(target, source, factor, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace commsched::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commsched::ops {

HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);

void AddFloats(float *target, const std::byte *source, float factor, size_t count) {
  HWY_DYNAMIC_DISPATCH(AddF32)(target, source, factor, count);
}
void AddFloats(double *target, const std::byte *source, double factor, size_t count) {
  HWY_DYNAMIC_DISPATCH(AddF64)(target, source, factor, count);
}

}  // namespace commsched::ops
#endif
