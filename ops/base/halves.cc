// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/base/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/base/halves.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace commsched::ops {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Float = hn::CappedTag<float, 16>;
using U32 = hn::Rebind<uint32_t, Float>;
using I32 = hn::Rebind<int32_t, Float>;
using U16 = hn::Rebind<uint16_t, Float>;
using F16 = hn::Rebind<hwy::float16_t, Float>;
using VF = hn::Vec<Float>;

struct Half {
  static VF Load(const uint16_t *p) {
    return hn::PromoteTo(Float(), hn::BitCast(F16(), hn::LoadU(U16(), p)));
  }
  static void Store(VF v, uint16_t *p) {
    hn::StoreU(hn::BitCast(U16(), hn::DemoteTo(F16(), v)), U16(), p);
  }
  static float Widen(uint16_t v) { return HalfToFloat(v); }
  static uint16_t Narrow(float v) { return FloatToHalf(v); }
};

struct BFloat {
  static VF Load(const uint16_t *p) {
    return hn::BitCast(Float(), hn::ShiftLeft<16>(hn::PromoteTo(
                                    U32(), hn::LoadU(U16(), p))));
  }
  static void Store(VF v, uint16_t *p) {
    const auto bits = hn::BitCast(U32(), v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(U32(), 1));
    const auto rounded = hn::ShiftRight<16>(
        hn::Add(bits, hn::Add(odd, hn::Set(U32(), 0x7fff))));
    const auto nan = hn::Or(hn::ShiftRight<16>(bits), hn::Set(U32(), 0x40));
    // By its bits: Highway's Ne is false of a NaN on some targets.
    const auto magnitude =
        hn::BitCast(I32(), hn::And(bits, hn::Set(U32(), 0x7fffffff)));
    const auto is_nan = hn::RebindMask(
        U32(), hn::Gt(magnitude, hn::Set(I32(), 0x7f800000)));
    hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(I32(), hn::IfThenElse(
                                                          is_nan, nan, rounded))),
               U16(), p);
  }
  static float Widen(uint16_t v) { return BFloat16ToFloat(v); }
  static uint16_t Narrow(float v) { return FloatToBFloat16(v); }
};

template <class T>
void Widen(const uint16_t *HWY_RESTRICT from, float *HWY_RESTRICT to,
           size_t count) {
  const size_t lanes = hn::Lanes(Float());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(T::Load(from + i), Float(), to + i);
  for (; i < count; ++i) to[i] = T::Widen(from[i]);
}

template <class T>
void Narrow(const float *HWY_RESTRICT from, uint16_t *HWY_RESTRICT to,
            size_t count) {
  const size_t lanes = hn::Lanes(Float());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    T::Store(hn::LoadU(Float(), from + i), to + i);
  for (; i < count; ++i) to[i] = T::Narrow(from[i]);
}

void WidenTarget(Element element, const uint16_t *from, float *to,
                 size_t count) {
  if (element == Element::kF16) return Widen<Half>(from, to, count);
  Widen<BFloat>(from, to, count);
}

void NarrowTarget(Element element, const float *from, uint16_t *to,
                  size_t count) {
  if (element == Element::kF16) return Narrow<Half>(from, to, count);
  Narrow<BFloat>(from, to, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace commsched::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commsched::ops {

HWY_EXPORT(WidenTarget);
HWY_EXPORT(NarrowTarget);

void WidenRow(Element element, const uint16_t *from, float *to, size_t count) {
  HWY_DYNAMIC_DISPATCH(WidenTarget)(element, from, to, count);
}
void NarrowRow(Element element, const float *from, uint16_t *to, size_t count) {
  HWY_DYNAMIC_DISPATCH(NarrowTarget)(element, from, to, count);
}

}  // namespace commsched::ops
#endif
