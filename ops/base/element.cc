// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/base/element.h"

#include <cstring>
#include <limits>

#include "ops/base/float_bits.h"
#include "ops/base/float_sums.h"

namespace commsched::ops {
namespace {

// How an element is kept (Storage) and computed with (Value).
template <typename T>
struct Plain {
  using Storage = T;
  using Value = T;
  static T Load(T v) { return v; }
  static T Store(T v) { return v; }
  static void Sum(double scale, std::byte *target, const std::byte *source, size_t count) {
    // Times one is what it was.
    AddFloats(reinterpret_cast<T *>(target), source, scale == 0 ? T(1) : T(scale), count);
  }
};
// Integers wrap around; as unsigned so that it is defined.
template <typename T, typename U>
struct Wrapping {
  using Storage = T;
  using Value = T;
  static T Load(T v) { return v; }
  static T Store(T v) { return v; }
  static T Add(T a, T b) { return T(U(a) + U(b)); }
};
struct Half {
  using Storage = uint16_t;
  using Value = float;
  static float Load(uint16_t v) { return HalfToFloat(v); }
  static uint16_t Store(float v) { return FloatToHalf(v); }
};
struct BFloat {
  using Storage = uint16_t;
  using Value = float;
  static float Load(uint16_t v) { return BFloat16ToFloat(v); }
  static uint16_t Store(float v) { return FloatToBFloat16(v); }
};
struct Bool {
  using Storage = uint8_t;
  using Value = uint8_t;
  static uint8_t Load(uint8_t v) { return v; }
  static uint8_t Store(uint8_t v) { return v; }
  static uint8_t Add(uint8_t a, uint8_t b) { return a | b; }
};

struct SumOp {
  template <typename F, typename V>
  static V Apply(V a, V b) {
    if constexpr (requires { F::Add(a, b); })
      return F::Add(a, b);
    else
      return a + b;
  }
};
struct MaxOp {
  template <typename F, typename V>
  static V Apply(V a, V b) {
    return (a > b || a != a) ? a : b;
  }
};
struct MinOp {
  template <typename F, typename V>
  static V Apply(V a, V b) {
    return (a < b || a != a) ? a : b;
  }
};
struct SecondOp {
  template <typename F, typename V>
  static V Apply(V, V b) {
    return b;
  }
};

template <typename F, typename Op, bool kScaled>
void Loop(double scale, std::byte *target, const std::byte *source,
          size_t count) {
  using S = typename F::Storage;
  using V = typename F::Value;
  S *__restrict t = reinterpret_cast<S *>(target);
  const std::byte *__restrict p = source;
  const V factor = kScaled ? V(scale) : V(1);
  for (size_t i = 0; i < count; ++i) {
    S raw;
    std::memcpy(&raw, p + i * sizeof(S), sizeof(S));
    V v = Op::template Apply<F>(F::Load(t[i]), F::Load(raw));
    if constexpr (kScaled) v = V(v * factor);
    t[i] = F::Store(v);
  }
}

template <typename F, typename Op>
void MaybeScaled(double scale, std::byte *target, const std::byte *source,
                 size_t count) {
  if (scale == 0 || scale == 1)
    Loop<F, Op, false>(scale, target, source, count);
  else
    Loop<F, Op, true>(scale, target, source, count);
}

template <typename F>
void ByCombine(Combine combine, double scale, std::byte *target,
               const std::byte *source, size_t count) {
  switch (combine) {
    case Combine::kReplace:
      return MaybeScaled<F, SecondOp>(scale, target, source, count);
    case Combine::kSum:
      if constexpr (requires { F::Sum(scale, target, source, count); })
        return F::Sum(scale, target, source, count);
      return MaybeScaled<F, SumOp>(scale, target, source, count);
    case Combine::kMax:
      return MaybeScaled<F, MaxOp>(scale, target, source, count);
    case Combine::kMin:
      return MaybeScaled<F, MinOp>(scale, target, source, count);
  }
}

template <typename F>
void Scale(double scale, std::byte *target, size_t count) {
  auto *t = reinterpret_cast<typename F::Storage *>(target);
  const auto factor = typename F::Value(scale);
  for (size_t i = 0; i < count; ++i) t[i] = F::Store(F::Load(t[i]) * factor);
}

template <typename T>
T ReadAs(const std::byte *source) {
  T v;
  std::memcpy(&v, source, sizeof(T));
  return v;
}

}  // namespace

size_t ElementBytes(Element element) {
  switch (element) {
    case Element::kF64:
    case Element::kI64:
      return 8;
    case Element::kF32:
    case Element::kI32:
      return 4;
    case Element::kF16:
    case Element::kBF16:
      return 2;
    case Element::kI8:
    case Element::kI1:
      return 1;
  }
  return 0;
}

const char *ElementName(Element element) {
  switch (element) {
    case Element::kF64: return "f64";
    case Element::kF32: return "f32";
    case Element::kF16: return "f16";
    case Element::kBF16: return "bf16";
    case Element::kI64: return "i64";
    case Element::kI32: return "i32";
    case Element::kI8: return "i8";
    case Element::kI1: return "i1";
  }
  return "?";
}

bool IsFloat(Element element) {
  return element == Element::kF64 || element == Element::kF32 ||
         element == Element::kF16 || element == Element::kBF16;
}

float BFloat16ToFloat(uint16_t value) { return bits::BFloat16ToFloat(value); }
uint16_t FloatToBFloat16(float value) { return bits::FloatToBFloat16(value); }
float HalfToFloat(uint16_t half) { return bits::HalfToFloat(half); }
uint16_t FloatToHalf(float value) { return bits::FloatToHalf(value); }

void CombineElements(Element element, Combine combine, double scale,
                     std::byte *target, const std::byte *source,
                     size_t count) {
  switch (element) {
    case Element::kF64:
      return ByCombine<Plain<double>>(combine, scale, target, source, count);
    case Element::kF32:
      return ByCombine<Plain<float>>(combine, scale, target, source, count);
    case Element::kF16:
      return ByCombine<Half>(combine, scale, target, source, count);
    case Element::kBF16:
      return ByCombine<BFloat>(combine, scale, target, source, count);
    case Element::kI64:
      return ByCombine<Wrapping<int64_t, uint64_t>>(combine, 0, target, source,
                                                    count);
    case Element::kI32:
      return ByCombine<Wrapping<int32_t, uint32_t>>(combine, 0, target, source,
                                                    count);
    case Element::kI8:
      return ByCombine<Wrapping<int8_t, uint8_t>>(combine, 0, target, source,
                                                  count);
    case Element::kI1:
      return ByCombine<Bool>(combine, 0, target, source, count);
  }
}

void ScaleElements(Element element, double scale, std::byte *target,
                   size_t count) {
  switch (element) {
    case Element::kF64: return Scale<Plain<double>>(scale, target, count);
    case Element::kF32: return Scale<Plain<float>>(scale, target, count);
    case Element::kF16: return Scale<Half>(scale, target, count);
    case Element::kBF16: return Scale<BFloat>(scale, target, count);
    default: return;
  }
}

double ReadElement(Element element, const std::byte *source) {
  switch (element) {
    case Element::kF64: return ReadAs<double>(source);
    case Element::kF32: return ReadAs<float>(source);
    case Element::kF16: return HalfToFloat(ReadAs<uint16_t>(source));
    case Element::kBF16: return BFloat16ToFloat(ReadAs<uint16_t>(source));
    case Element::kI64: return double(ReadAs<int64_t>(source));
    case Element::kI32: return ReadAs<int32_t>(source);
    case Element::kI8: return ReadAs<int8_t>(source);
    case Element::kI1: return ReadAs<uint8_t>(source);
  }
  return 0;
}

}  // namespace commsched::ops
