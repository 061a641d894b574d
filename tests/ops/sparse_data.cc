// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/sparse_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

namespace commsched::testing {

using ops::Element;

uint32_t Array::bits(int64_t i) const {
  uint32_t bits = 0;
  const size_t width = ops::ElementBytes(element_);
  std::memcpy(&bits, bytes_.data() + size_t(i) * width, width);
  return bits;
}
void Array::set_bits(int64_t i, uint32_t bits) {
  const size_t width = ops::ElementBytes(element_);
  std::memcpy(bytes_.data() + size_t(i) * width, &bits, width);
}
float Array::operator[](int64_t i) const {
  switch (element_) {
    case Element::kF16:
      return ops::HalfToFloat(uint16_t(bits(i)));
    case Element::kBF16:
      return ops::BFloat16ToFloat(uint16_t(bits(i)));
    default:
      return std::bit_cast<float>(bits(i));
  }
}
void Array::Set(int64_t i, float value) {
  switch (element_) {
    case Element::kF16:
      return set_bits(i, ops::FloatToHalf(value));
    case Element::kBF16:
      return set_bits(i, ops::FloatToBFloat16(value));
    default:
      return set_bits(i, std::bit_cast<uint32_t>(value));
  }
}
uint32_t Array::magnitude(int64_t i) const {
  return bits(i) & (element_ == Element::kF32 ? 0x7fffffff : 0x7fff);
}

Array MakeArray(Element element, Data data, int64_t size, uint64_t seed) {
  Array x(element, size);
  std::mt19937_64 random(seed * 1000 + uint64_t(data));
  std::normal_distribution<float> normal;
  const uint32_t smallest_normal = element == Element::kF32   ? 0x00800000
                                   : element == Element::kF16 ? 0x0400
                                                              : 0x0080;
  const uint32_t infinity = element == Element::kF32   ? 0x7f800000
                            : element == Element::kF16 ? 0x7c00
                                                       : 0x7f80;
  const uint32_t sign = element == Element::kF32 ? 0x80000000 : 0x8000;
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t r = random();
    switch (data) {
      case Data::kNormal:
        x.Set(i, normal(random));
        break;
      case Data::kHeavyTail: {
        const float z = normal(random);
        x.Set(i, z * std::exp(1.5f * std::fabs(normal(random))));
        break;
      }
      case Data::kTied:
        x.Set(i, float(int(r % 7) - 3));
        break;
      case Data::kAscending:
        x.Set(i, float(double(i) / double(size) - 0.25));
        break;
      case Data::kDescending:
        x.Set(i, float(double(size - i) / double(size)));
        break;
      case Data::kConstant:
        x.Set(i, -1.5f);
        break;
      case Data::kZero:
        x.Set(i, r % 2 ? 0.0f : -0.0f);
        break;
      case Data::kDenormal:
        x.set_bits(i, uint32_t(r >> 1) % smallest_normal | (r % 2 ? sign : 0));
        break;
      case Data::kClusters:
        x.Set(i, normal(random) * (i % 5000 > 4900 ? 10.0f : i > size / 2 ? 0.1f
                                                                          : 0.001f));
        break;
      case Data::kAllBits:
        x.set_bits(i, uint32_t(r >> 1) % infinity | (r % 2 ? sign : 0));
        break;
    }
  }
  return x;
}

Array Add(const Array &a, const Array &b) {
  Array sum(a.element(), a.size());
  for (int64_t i = 0; i < a.size(); ++i) sum.Set(i, a[i] + b[i]);
  return sum;
}

std::vector<int64_t> FirstPlaces(const Array &x, int64_t k) {
  // A float that is not negative is ordered as its bits are.
  std::vector<std::pair<uint32_t, int64_t>> order(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i)
    order[size_t(i)] = {~std::bit_cast<uint32_t>(std::fabs(x[i])), i};
  std::nth_element(order.begin(), order.begin() + k, order.end());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < k; ++i) places.push_back(order[size_t(i)].second);
  std::sort(places.begin(), places.end());
  return places;
}

namespace {

// Memory of just so many bytes, with a margin that must stay as it is.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), memory_(new std::byte[bytes + 3 * kMargin]) {
    std::memset(memory_.get(), kFill, bytes + 3 * kMargin);
    begin_ = memory_.get() + kMargin;
    begin_ += (64 - uintptr_t(begin_) % 64) % 64;
  }
  void *data() { return begin_; }
  bool damaged() const {
    const auto changed = [](std::byte b) { return b != std::byte{kFill}; };
    return std::any_of(memory_.get(), begin_, changed) ||
           std::any_of(begin_ + bytes_, memory_.get() + bytes_ + 3 * kMargin, changed);
  }

 private:
  static constexpr size_t kMargin = 256;
  static constexpr unsigned char kFill = 0xa5;
  const size_t bytes_;
  const std::unique_ptr<std::byte[]> memory_;
  std::byte *begin_;
};

// run(buffers, &result) selects.
template <typename Run>
Selected SelectWith(const ops::sparse::TopKProblem &problem, const Array &x, const Array *residual,
                    Feedback feedback, Run run) {
  Selected result;
  result.status = ops::sparse::CheckTopK(problem);
  if (!result.status.ok()) return result;
  const size_t width = ops::ElementBytes(problem.element);
  const size_t bytes = size_t(problem.size) * width, index = ops::ElementBytes(problem.index);
  Guarded sum(bytes), values(size_t(problem.k) * width), indices(size_t(problem.k) * index),
      scratch(TopKScratchBytes(problem));
  ops::sparse::TopKBuffers buffers;
  buffers.input = x.data();
  if (residual != nullptr) {
    buffers.residual = residual->data();
    buffers.new_residual = sum.data();
    if (feedback == Feedback::kInPlace) {
      std::memcpy(sum.data(), residual->data(), bytes);
      buffers.residual = sum.data();
    }
  }
  buffers.values = values.data();
  buffers.indices = indices.data();
  buffers.scratch = scratch.data();
  result.status = run(buffers, &result);
  result.values = Array(problem.element, problem.k);
  std::memcpy(result.values.data(), values.data(), size_t(problem.k) * width);
  for (int64_t i = 0; i < problem.k; ++i)
    result.places.push_back(problem.index == Element::kI32
                                ? static_cast<int32_t *>(indices.data())[i]
                                : static_cast<int64_t *>(indices.data())[i]);
  if (residual != nullptr) {
    result.residual = Array(problem.element, problem.size);
    std::memcpy(result.residual.data(), sum.data(), bytes);
  }
  result.damaged = sum.damaged() || values.damaged() || indices.damaged() || scratch.damaged();
  return result;
}

}  // namespace

Selected Select(const ops::sparse::TopKProblem &problem, const Array &x, const Array *residual,
                Feedback feedback, const double *threshold) {
  return SelectWith(problem, x, residual, feedback,
                    [&](const ops::sparse::TopKBuffers &buffers, Selected *result) {
                      if (threshold == nullptr) return TopK(problem, buffers, &result->non_finite);
                      return SelectAbove(problem, *threshold, buffers, &result->count,
                                         &result->non_finite);
                    });
}

Selected SelectEvery(const ops::sparse::TopKProblem &problem, int64_t every,
                     const ops::sparse::ThresholdState &state, const Array &x,
                     const Array *residual, Feedback feedback) {
  return SelectWith(problem, x, residual, feedback,
                    [&](const ops::sparse::TopKBuffers &buffers, Selected *result) {
                      return TopKEvery(problem, every, state, buffers, &result->next,
                                       &result->non_finite);
                    });
}

}  // namespace commsched::testing
