// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/scan.h"

#include <algorithm>
#include <cmath>

#include "ops/sparse/float_types.h"

// Vectors of 16 bytes without SSE4 are emulated; SSSE3 and AVX-512 of newer
// machines would give little.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sparse/scan.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace commsched::ops::sparse {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::CappedTag<uint32_t, 16>;
using I32 = hn::RebindToSigned<U32>;
using Float = hn::Rebind<float, U32>;
using U16 = hn::Rebind<uint16_t, U32>;
using VU = hn::Vec<U32>;
using VF = hn::Vec<Float>;

HWY_INLINE VU Set(uint32_t v) { return hn::Set(U32(), v); }
HWY_INLINE VU SelectIf(hn::Mask<U32> m, VU yes, VU no) {
  return hn::IfThenElse(m, yes, no);
}
// a > b of integers below 2^31.
HWY_INLINE hn::Mask<U32> Greater(VU a, VU b) {
  return hn::RebindMask(U32(),
                        hn::Gt(hn::BitCast(I32(), a), hn::BitCast(I32(), b)));
}

// One lane of 32 bits for each element, also of 16 bits.
HWY_INLINE VU LoadBits(F32, const float *p) {
  return hn::BitCast(U32(), hn::LoadU(Float(), p));
}
HWY_INLINE void StoreBits(F32, VU v, float *p, bool stream) {
  const VF f = hn::BitCast(Float(), v);
  if (stream)
    hn::Stream(f, Float(), p);
  else
    hn::StoreU(f, Float(), p);
}
template <class F>
HWY_INLINE VU LoadBits(F, const uint16_t *p) {
  return hn::PromoteTo(U32(), hn::LoadU(U16(), p));
}
template <class F>
HWY_INLINE void StoreBits(F, VU v, uint16_t *p, bool stream) {
  const auto narrow = hn::DemoteTo(U16(), hn::BitCast(I32(), v));
  if constexpr (hn::MaxLanes(U16()) >= 8) {
    if (stream) return hn::Stream(narrow, U16(), p);
  }
  hn::StoreU(narrow, U16(), p);
}

// The same as F::Load and F::Store, bit for bit.
HWY_INLINE VF ToFloat(F32, VU v) { return hn::BitCast(Float(), v); }
HWY_INLINE VU FromFloat(F32, VF v) { return hn::BitCast(U32(), v); }
HWY_INLINE VF ToFloat(BF16, VU v) {
  return hn::BitCast(Float(), hn::ShiftLeft<16>(v));
}
HWY_INLINE VU FromFloat(BF16, VF v) {
  const VU bits = hn::BitCast(U32(), v);
  const VU odd = hn::And(hn::ShiftRight<16>(bits), Set(1));
  const VU rounded =
      hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, Set(0x7fff))));
  const auto nan = Greater(hn::And(bits, Set(0x7fffffff)), Set(0x7f800000));
  return SelectIf(nan, hn::Or(hn::ShiftRight<16>(bits), Set(0x40)), rounded);
}
HWY_INLINE VF ToFloat(F16, VU v) {
  const VU sign = hn::ShiftLeft<16>(hn::And(v, Set(0x8000)));
  const VU magnitude = hn::And(v, Set(0x7fff));
  const VU shifted = hn::ShiftLeft<13>(magnitude);
  const VU number = hn::BitCast(U32(), hn::Mul(hn::BitCast(Float(), shifted),
                                               hn::Set(Float(), 0x1p112f)));
  // An exponent of 31 becomes one of 255.
  const VU special = hn::Add(shifted, Set((255 - 31) << 23));
  return hn::BitCast(
      Float(),
      hn::Or(sign, SelectIf(Greater(magnitude, Set(0x7bff)), special, number)));
}
HWY_INLINE VU FromFloat(F16, VF v) {
  const VU bits = hn::BitCast(U32(), v);
  const VU sign = hn::And(hn::ShiftRight<16>(bits), Set(0x8000));
  const VU magnitude = hn::And(bits, Set(0x7fffffff));
  const VU subnormal =
      hn::Sub(hn::BitCast(U32(), hn::Add(hn::BitCast(Float(), magnitude),
                                         hn::Set(Float(), 0.5f))),
              Set(0x3f000000));
  const VU odd = hn::And(hn::ShiftRight<13>(magnitude), Set(1));
  const VU rounded = hn::Add(magnitude, hn::Add(odd, Set(0xfff)));
  VU half = hn::ShiftRight<13>(hn::Sub(rounded, Set(0x38000000)));
  half = SelectIf(Greater(Set(0x38800000), magnitude), subnormal, half);
  half = SelectIf(Greater(magnitude, Set(0x477fefff)), Set(0x7c00), half);
  half = SelectIf(Greater(magnitude, Set(0x7f800000)), Set(0x7e00), half);
  return hn::Or(sign, half);
}

constexpr bool Adds(ScanMode mode) {
  return mode == ScanMode::kAdd || mode == ScanMode::kAddClear;
}
constexpr bool Clears(ScanMode mode) {
  return mode == ScanMode::kAddClear || mode == ScanMode::kClear;
}

// Pointers of a part by type.
template <class F, ScanMode kMode>
struct Arrays {
  using S = typename F::Storage;
  explicit Arrays(const ScanPart &part)
      : x(static_cast<const S *>(kMode == ScanMode::kClear ? part.sum
                                                           : part.x)),
        residual(static_cast<const S *>(part.residual)),
        sum(static_cast<S *>(part.sum)) {}

  HWY_INLINE VU Load(size_t i) const {
    const VU v = LoadBits(F(), x + i);
    if constexpr (!Adds(kMode)) return v;
    return FromFloat(F(), hn::Add(ToFloat(F(), LoadBits(F(), residual + i)),
                                  ToFloat(F(), v)));
  }
  S LoadOne(size_t i) const {
    if constexpr (!Adds(kMode)) return x[i];
    return F::Store(F::Load(residual[i]) + F::Load(x[i]));
  }

  const S *x, *residual;
  S *sum;
};

template <class F, ScanMode kMode>
void ScanOnes(const ScanPart &part, size_t from, size_t to, int32_t above,
              Hits *hits) {
  const Arrays<F, kMode> arrays(part);
  for (size_t i = from; i < to; ++i) {
    const auto v = arrays.LoadOne(i);
    const uint32_t bits = F::Bits(v);
    const bool hit = int32_t(bits & F::kMagnitude) > above;
    if (hit) {
      hits->bits[hits->count] = bits;
      hits->at[hits->count++] = uint32_t(i - part.begin);
    }
    if (hit && Clears(kMode))
      arrays.sum[i] = 0;
    else if (Adds(kMode))
      arrays.sum[i] = v;
  }
}

// Stores past the caches save reading what is overwritten; from this size on.
constexpr size_t kStreamBytes = 4 << 20;

template <class F, ScanMode kMode>
size_t ScanVectors(const ScanPart &part, size_t from, int32_t above,
                   Hits *hits) {
  const Arrays<F, kMode> arrays(part);
  const size_t lanes = hn::Lanes(U32());
  const size_t block = 4 * lanes;
  static_assert(4 * hn::MaxLanes(U32()) <= kScanRoom);
  const VU threshold = Set(uint32_t(above)), mask = Set(F::kMagnitude);
  const VU iota = hn::Iota(U32(), 0);
  uint32_t *bits = hits->bits, *at = hits->at;
  size_t count = hits->count;
  const size_t last = hits->capacity - kScanRoom;
  size_t i = from;
  bool stream = Adds(kMode) && part.sum != part.residual &&
                (part.end - from) * sizeof(*arrays.sum) >= kStreamBytes;
  if (stream) {
    while (i < part.end && uintptr_t(arrays.sum + i) % 64 != 0) ++i;
    ScanOnes<F, kMode>(part, from, i, above, hits);
    count = hits->count;
  }
  for (; i + block <= part.end && count <= last; i += block) {
    VU v0 = arrays.Load(i), v1 = arrays.Load(i + lanes),
       v2 = arrays.Load(i + 2 * lanes), v3 = arrays.Load(i + 3 * lanes);
    const VU a0 = hn::And(v0, mask), a1 = hn::And(v1, mask),
             a2 = hn::And(v2, mask), a3 = hn::And(v3, mask);
    const auto largest =
        hn::Max(hn::Max(hn::BitCast(I32(), a0), hn::BitCast(I32(), a1)),
                hn::Max(hn::BitCast(I32(), a2), hn::BitCast(I32(), a3)));
    const bool hit =
        !hn::AllFalse(I32(), hn::Gt(largest, hn::BitCast(I32(), threshold)));
    if (HWY_UNLIKELY(hit)) {
      const auto append = [&](VU a, VU &v, size_t place) HWY_ATTR {
        const auto found = Greater(a, threshold);
        hn::StoreU(hn::Compress(v, found), U32(), bits + count);
        hn::StoreU(hn::Compress(hn::Add(iota, Set(uint32_t(place))), found),
                   U32(), at + count);
        count += hn::CountTrue(U32(), found);
        if constexpr (Clears(kMode)) v = hn::IfThenZeroElse(found, v);
      };
      const size_t place = i - part.begin;
      append(a0, v0, place);
      append(a1, v1, place + lanes);
      append(a2, v2, place + 2 * lanes);
      append(a3, v3, place + 3 * lanes);
    }
    if (Adds(kMode) || (kMode == ScanMode::kClear && hit)) {
      StoreBits(F(), v0, arrays.sum + i, stream);
      StoreBits(F(), v1, arrays.sum + i + lanes, stream);
      StoreBits(F(), v2, arrays.sum + i + 2 * lanes, stream);
      StoreBits(F(), v3, arrays.sum + i + 3 * lanes, stream);
    }
  }
  hits->count = count;
  if (stream) hwy::FlushStream();
  if (i + block > part.end && count <= last) {
    ScanOnes<F, kMode>(part, i, part.end, above, hits);
    i = part.end;
  }
  return i;
}

template <class F>
size_t ScanType(const ScanPart &part, size_t from, int32_t above, Hits *hits) {
  switch (part.mode) {
    case ScanMode::kRead:
      return ScanVectors<F, ScanMode::kRead>(part, from, above, hits);
    case ScanMode::kAdd:
      return ScanVectors<F, ScanMode::kAdd>(part, from, above, hits);
    case ScanMode::kAddClear:
      return ScanVectors<F, ScanMode::kAddClear>(part, from, above, hits);
    case ScanMode::kClear:
      return ScanVectors<F, ScanMode::kClear>(part, from, above, hits);
  }
  return part.end;
}

size_t ScanTarget(const ScanPart &part, size_t from, int32_t above,
                  Hits *hits) {
  switch (part.element) {
    case Element::kF16:
      return ScanType<F16>(part, from, above, hits);
    case Element::kBF16:
      return ScanType<BF16>(part, from, above, hits);
    default:
      return ScanType<F32>(part, from, above, hits);
  }
}

template <class F>
size_t CountType(const void *x, size_t begin, size_t end, int32_t above) {
  const auto *p = static_cast<const typename F::Storage *>(x);
  const size_t lanes = hn::Lanes(U32());
  const VU threshold = Set(uint32_t(above)), mask = Set(F::kMagnitude);
  size_t i = begin, count = 0;
  while (i + 4 * lanes <= end) {
    // Sums of 32 bits, for as long as they cannot overflow.
    const size_t stop =
        i + std::min<size_t>((end - i) / (4 * lanes), 1 << 20) * 4 * lanes;
    VU s0 = Set(0), s1 = Set(0);
    const auto one = [&](size_t at) HWY_ATTR {
      return hn::VecFromMask(
          U32(), Greater(hn::And(LoadBits(F(), p + at), mask), threshold));
    };
    for (; i < stop; i += 4 * lanes) {
      s0 = hn::Sub(s0, hn::Add(one(i), one(i + lanes)));
      s1 = hn::Sub(s1, hn::Add(one(i + 2 * lanes), one(i + 3 * lanes)));
    }
    HWY_ALIGN uint32_t sums[hn::MaxLanes(U32())];
    hn::Store(hn::Add(s0, s1), U32(), sums);
    for (size_t j = 0; j < lanes; ++j) count += sums[j];
  }
  for (; i < end; ++i) count += int32_t(F::Bits(p[i]) & F::kMagnitude) > above;
  return count;
}

size_t CountTarget(Element element, const void *x, size_t begin, size_t end,
                   int32_t above) {
  switch (element) {
    case Element::kF16:
      return CountType<F16>(x, begin, end, above);
    case Element::kBF16:
      return CountType<BF16>(x, begin, end, above);
    default:
      return CountType<F32>(x, begin, end, above);
  }
}

template <class F>
MagnitudeSum SumType(const void *x, size_t begin, size_t end) {
  constexpr size_t kColumns = 32, kTile = 1024;
  const auto *p = static_cast<const typename F::Storage *>(x);
  const size_t lanes = hn::Lanes(U32());
  const auto halve = [](double *sums) {
    for (size_t half = kColumns / 2; half > 0; half /= 2)
      for (size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    return sums[0];
  };
  MagnitudeSum result;
  VU largest = Set(0);
  double tiles[kSumGroup / kTile] = {};
  HWY_ALIGN float values[kColumns];
  for (size_t tile = begin; tile < end; tile += kTile) {
    double sums[kColumns] = {};
    const size_t tile_end = std::min(end, tile + kTile);
    size_t i = tile;
    for (; i + kColumns <= tile_end; i += kColumns) {
      for (size_t j = 0; j < kColumns; j += lanes) {
        const VU v = hn::And(LoadBits(F(), p + i + j), Set(F::kMagnitude));
        largest = SelectIf(Greater(v, largest), v, largest);
        hn::Store(ToFloat(F(), v), Float(), values + j);
      }
      for (size_t j = 0; j < kColumns; ++j) sums[j] += double(values[j]);
    }
    for (size_t j = 0; i < tile_end; ++i, ++j) {
      sums[j] += std::fabs(double(F::Load(p[i])));
      result.largest =
          std::max(result.largest, int32_t(F::Bits(p[i]) & F::kMagnitude));
    }
    tiles[(tile - begin) / kTile] = halve(sums);
  }
  result.sum = halve(tiles);
  HWY_ALIGN uint32_t most[hn::MaxLanes(U32())];
  hn::Store(largest, U32(), most);
  for (size_t j = 0; j < lanes; ++j)
    result.largest = std::max(result.largest, int32_t(most[j]));
  return result;
}

MagnitudeSum SumTarget(Element element, const void *x, size_t begin,
                       size_t end) {
  switch (element) {
    case Element::kF16:
      return SumType<F16>(x, begin, end);
    case Element::kBF16:
      return SumType<BF16>(x, begin, end);
    default:
      return SumType<F32>(x, begin, end);
  }
}

template <class F>
int32_t LargestType(const void *x, size_t begin, size_t end) {
  const auto *p = static_cast<const typename F::Storage *>(x);
  const size_t lanes = hn::Lanes(U32());
  const auto mask = hn::BitCast(I32(), Set(F::kMagnitude));
  auto m0 = hn::Zero(I32()), m1 = m0, m2 = m0, m3 = m0;
  const auto load = [&](size_t at) HWY_ATTR {
    return hn::And(mask, hn::BitCast(I32(), LoadBits(F(), p + at)));
  };
  size_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    m0 = hn::Max(m0, load(i));
    m1 = hn::Max(m1, load(i + lanes));
    m2 = hn::Max(m2, load(i + 2 * lanes));
    m3 = hn::Max(m3, load(i + 3 * lanes));
  }
  HWY_ALIGN int32_t most[hn::MaxLanes(U32())];
  hn::Store(hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)), I32(), most);
  int32_t largest = *std::max_element(most, most + lanes);
  for (; i < end; ++i)
    largest = std::max(largest, int32_t(F::Bits(p[i]) & F::kMagnitude));
  return largest;
}

int32_t LargestTarget(Element element, const void *x, size_t begin,
                      size_t end) {
  switch (element) {
    case Element::kF16:
      return LargestType<F16>(x, begin, end);
    case Element::kBF16:
      return LargestType<BF16>(x, begin, end);
    default:
      return LargestType<F32>(x, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace commsched::ops::sparse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace commsched::ops::sparse {

HWY_EXPORT(ScanTarget);
HWY_EXPORT(CountTarget);
HWY_EXPORT(SumTarget);
HWY_EXPORT(LargestTarget);

size_t Scan(const ScanPart &part, size_t from, int32_t above, Hits *hits) {
  return HWY_DYNAMIC_DISPATCH(ScanTarget)(part, from, above, hits);
}
size_t CountAbove(Element element, const void *x, size_t begin, size_t end,
                  int32_t above) {
  return HWY_DYNAMIC_DISPATCH(CountTarget)(element, x, begin, end, above);
}
MagnitudeSum SumMagnitudes(Element element, const void *x, size_t begin,
                           size_t end) {
  return HWY_DYNAMIC_DISPATCH(SumTarget)(element, x, begin, end);
}
int32_t LargestMagnitude(Element element, const void *x, size_t begin,
                         size_t end) {
  return HWY_DYNAMIC_DISPATCH(LargestTarget)(element, x, begin, end);
}
int64_t RestrictScanTargets(int64_t targets) {
  hwy::SetSupportedTargetsForTest(0);
  const int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return all;
}

}  // namespace commsched::ops::sparse
#endif
