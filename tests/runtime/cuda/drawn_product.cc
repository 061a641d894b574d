// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/drawn_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {
namespace {

using ops::Element;

// Significant bits, the first one with them; and the exponent of the smallest normal number.
struct Format {
  size_t bytes;
  int bits, smallest;
};
Format FormatOf(Element element) {
  switch (element) {
    case Element::kF64: return {8, 53, -1022};
    case Element::kF16: return {2, 11, -14};
    case Element::kBF16: return {2, 8, -126};
    default: return {4, 24, -126};
  }
}
double HalfUnit(const Format &format, double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(0.5, std::max(exponent - 1, format.smallest) - format.bits + 1);
}

// Of 16 bits: a sign, an exponent, a fraction of `bits` - 1 bits.
double OfBits(const Format &format, uint16_t bits) {
  const int fraction_bits = format.bits - 1, exponent_mask = (1 << (15 - fraction_bits)) - 1;
  const int exponent = bits >> fraction_bits & exponent_mask;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  if (exponent == exponent_mask) return std::numeric_limits<double>::quiet_NaN();
  const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  const double value =
      std::ldexp(double(whole), format.smallest - fraction_bits + std::max(exponent, 1) - 1);
  return bits >> 15 ? -value : value;
}
double Load(Element element, const std::byte *at) {
  if (element == Element::kF64) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (element == Element::kF32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return double(value);
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return OfBits(FormatOf(element), bits);
}

// Calls `visit` with each index of `dims`.
template <typename F>
void ForEach(const std::vector<int64_t> &dims, F visit) {
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t d = dims.size();
    while (d-- > 0 && ++index[d] == dims[d]) index[d] = 0;
    if (d > dims.size()) return;
  }
}
int64_t OffsetOf(const ops::KernelOperand &operand, const std::vector<int64_t> &index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * operand.strides[d];
  return offset;
}

}  // namespace

ops::KernelDesc DrawProduct(std::mt19937_64 &random) {
  const auto draw = [&](uint64_t below) { return int64_t(random() % below); };
  ops::KernelDesc kernel;
  kernel.kind = "matmul";
  kernel.accumulate = draw(2) == 0;
  const int64_t m = 1 + draw(9), n = 1 + draw(9), k = draw(4) == 0 ? 1 + draw(60) : 1 + draw(9);
  std::vector<int64_t> batch(size_t(draw(4)), 1);
  for (int64_t &size : batch) size = 1 + draw(4);
  constexpr std::pair<Element, Element> kTypes[] = {
      {Element::kF32, Element::kF32},
      {Element::kF64, Element::kF64},
      {Element::kF16, Element::kF16},
      {Element::kF16, Element::kF32},
      {Element::kBF16, Element::kBF16},
      {Element::kBF16, Element::kF32}};
  const auto [input, output] = kTypes[draw(2) == 0 ? 0 : draw(6)];
  for (size_t i = 0; i < 3; ++i) {
    ops::KernelOperand operand;
    operand.element = i == 2 ? output : input;
    operand.dims = batch;
    operand.dims.push_back(i == 1 ? k : m);
    operand.dims.push_back(i == 0 ? k : n);
    const size_t rank = operand.dims.size();
    // From the innermost to the outermost: one of the matrix's dimensions first.
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; ++d) order.push_back(d);
    std::shuffle(order.begin(), order.end(), random);
    const size_t dense = rank - 1 - size_t(draw(2));
    std::swap(*std::find(order.begin(), order.end(), dense), order.front());
    operand.strides.assign(rank, 1);
    int64_t stride = 1;
    for (size_t d : order) {
      if (d != order.front() && draw(3) == 0) stride += 1 + draw(5);
      operand.strides[d] = stride;
      if (i != 2 && d + 2 < rank && draw(4) == 0) {
        operand.strides[d] = 0;
        continue;
      }
      stride *= operand.dims[d];
      if (operand.dims[d] == 1 && draw(2) == 0) operand.strides[d] = draw(20);
    }
    kernel.operands.push_back(std::move(operand));
  }
  return kernel;
}

DrawnOperand DrawOperand(std::mt19937_64 &random, const ops::KernelOperand &operand) {
  const size_t size = FormatOf(operand.element).bytes;
  int64_t last = 0;
  for (size_t d = 0; d < operand.dims.size(); ++d)
    last += (operand.dims[d] - 1) * operand.strides[d];
  DrawnOperand drawn;
  drawn.first = size * (random() % 2 == 0 ? 64 : 64 + random() % 64);
  // Around it is what an operand with a wrong stride would read.
  drawn.bytes.resize(drawn.first + size * (2 * size_t(last) + 256));
  for (size_t at = 0; at < drawn.bytes.size(); at += size) {
    const double value = double(int64_t(random() % 2001)) / 1000.5 - 1;
    if (operand.element == Element::kF64) {
      std::memcpy(&drawn.bytes[at], &value, size);
    } else if (operand.element == Element::kF32) {
      const auto rounded = float(value);
      std::memcpy(&drawn.bytes[at], &rounded, size);
    } else {
      // Any bits of which the value is in (-1, 1).
      uint16_t bits = 0;
      do {
        bits = uint16_t(random());
      } while (!(std::abs(OfBits(FormatOf(operand.element), bits)) < 1) ||
               !(std::abs(OfBits(FormatOf(operand.element), bits)) > 1e-3));
      std::memcpy(&drawn.bytes[at], &bits, size);
    }
  }
  return drawn;
}

std::string CheckProduct(const ops::KernelDesc &kernel, const std::vector<DrawnOperand> &before,
                         const std::vector<std::byte> &after) {
  const size_t rank = kernel.operands[2].dims.size();
  return CheckSums(kernel, before, after, [&](const std::vector<int64_t> &index, const AddTerm &add) {
    for (int64_t p = 0; p < kernel.operands[0].dims[rank - 1]; ++p) {
      std::vector<int64_t> in_a = index, in_b = index;
      in_a[rank - 1] = p;
      in_b[rank - 2] = p;
      add(in_a, in_b);
    }
  });
}

std::string CheckSums(const ops::KernelDesc &kernel, const std::vector<DrawnOperand> &before,
                      const std::vector<std::byte> &after, const TermsOf &terms) {
  const ops::KernelOperand &output = kernel.operands[2];
  const Format format = FormatOf(output.element);
  const int sum_bits = kernel.operands[0].element == Element::kF64 ? 53 : 24;
  std::vector<std::byte> others = after;  // with the elements as they were
  std::string wrong;
  ForEach(output.dims, [&](const std::vector<int64_t> &index) {
    long double exact = 0, magnitudes = 0;
    const auto value = [&](size_t i, const std::vector<int64_t> &at) {
      const size_t offset = size_t(OffsetOf(kernel.operands[i], at)) *
                            FormatOf(kernel.operands[i].element).bytes;
      return (long double)Load(kernel.operands[i].element, &before[i].bytes[before[i].first + offset]);
    };
    int64_t k = 0;
    terms(index, [&](const std::vector<int64_t> &first, const std::vector<int64_t> &second) {
      const long double product = value(0, first) * value(1, second);
      exact += product;
      magnitudes += std::abs(product);
      ++k;
    });
    if (kernel.accumulate) {
      exact += value(2, index);
      magnitudes += std::abs(value(2, index));
    }
    const size_t at = before[2].first + size_t(OffsetOf(output, index)) * format.bytes;
    const double got = Load(output.element, &after[at]);
    const double sums = double(magnitudes) * std::ldexp(double(2 * (k + 2)), -sum_bits);
    const double bound = sums + HalfUnit(format, std::abs(double(exact)) + sums);
    if (!(std::abs(got - double(exact)) <= bound) && wrong.empty())
      wrong = absl::StrCat("must be ", double(exact), " within ", bound, ", got: ", got);
    std::copy_n(before[2].bytes.begin() + ptrdiff_t(at), format.bytes, others.begin() + ptrdiff_t(at));
  });
  if (wrong.empty() && others != before[2].bytes) wrong = "bytes are written that are no element's";
  return wrong;
}

}  // namespace commsched::runtime::cuda
