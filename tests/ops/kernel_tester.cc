// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/kernel_tester.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "ops/reference/reference.h"

namespace commsched::testing {
namespace {

using ops::Element;
using ops::KernelOperand;

size_t Extent(const KernelOperand &operand) {
  size_t extent = 1;
  for (size_t d = 0; d < operand.dims.size(); ++d)
    extent += size_t((operand.dims[d] - 1) * operand.strides[d]);
  return extent;
}

void Write(Element element, std::byte *p, double value) {
  switch (element) {
    case Element::kF64:
      std::memcpy(p, &value, 8);
      return;
    case Element::kF32: {
      float v = float(value);
      std::memcpy(p, &v, 4);
      return;
    }
    case Element::kF16: {
      uint16_t v = ops::FloatToHalf(float(value));
      std::memcpy(p, &v, 2);
      return;
    }
    case Element::kBF16: {
      uint16_t v = ops::FloatToBFloat16(float(value));
      std::memcpy(p, &v, 2);
      return;
    }
    case Element::kI64: {
      int64_t v = int64_t(value * 8);
      std::memcpy(p, &v, 8);
      return;
    }
    case Element::kI32: {
      int32_t v = int32_t(value * 8);
      std::memcpy(p, &v, 4);
      return;
    }
    default: {
      int8_t v = int8_t(value * 4);
      std::memcpy(p, &v, 1);
      return;
    }
  }
}

// Elements with one spare one behind the end.
class Tensor {
 public:
  Tensor(const KernelOperand &operand, uint32_t seed)
      : element_(operand.element),
        unit_(ops::ElementBytes(operand.element)),
        bytes_((Extent(operand) + 1) * unit_ + 64) {
    std::mt19937 random(seed);
    for (size_t i = 0; i <= Extent(operand); ++i)
      Write(element_, data() + i * unit_, double(random() % 2001) / 1000 - 1);
  }
  std::byte *data() {
    auto at = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - at % 64) % 64;
  }
  double At(size_t i) { return ops::ReadElement(element_, data() + i * unit_); }

 private:
  Element element_;
  size_t unit_;
  std::vector<std::byte> bytes_;
};

// Marks the elements that belong to the operand.
std::vector<bool> Covered(const KernelOperand &operand) {
  std::vector<bool> covered(Extent(operand) + 1, false);
  std::vector<int64_t> at(operand.dims.size(), 0);
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * operand.strides[d];
    covered[size_t(offset)] = true;
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == operand.dims[d - 1]) at[--d] = 0;
    if (d == 0) return covered;
  }
}

}  // namespace

KernelOperand Operand(Element element, std::vector<int64_t> dims,
                      std::vector<int64_t> strides) {
  return {element, std::move(dims), std::move(strides)};
}

KernelOperand Dense(Element element, std::vector<int64_t> dims) {
  std::vector<int> order;
  for (size_t d = 0; d < dims.size(); ++d) order.push_back(int(d));
  return Permuted(element, std::move(dims), order);
}

KernelOperand Permuted(Element element, std::vector<int64_t> dims,
                       std::vector<int> order) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[size_t(order[i])] = stride;
    stride *= dims[size_t(order[i])];
  }
  return {element, std::move(dims), std::move(strides)};
}

Comparison Compare(const ops::KernelDesc &desc) {
  Comparison result;
  ops::PrepareComputeThread();
  auto kernel = ops::MakeKernel(desc);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  if (!kernel.ok()) return result;
  auto reference = desc.kind == "matmul" ? ops::MakeReferenceMatmul(desc)
                                         : ops::MakeReferenceConvolution(desc);
  result.implementation = (*kernel)->implementation();
  Tensor a(desc.operands[0], 1), b(desc.operands[1], 2), got(desc.operands[2], 3),
      want(desc.operands[2], 3), before(desc.operands[2], 3);
  std::vector<std::byte> scratch((*kernel)->scratch_bytes() + 128);
  auto base = reinterpret_cast<uintptr_t>(scratch.data());
  std::byte *aligned = scratch.data() + (64 - base % 64) % 64;
  for (int run = 0; run < 2; ++run) {
    // What a kernel leaves in the scratch of another must not matter.
    std::memset(aligned, 0xff, (*kernel)->scratch_bytes());
    void *operands[3] = {a.data(), b.data(), got.data()};
    absl::Status status = (*kernel)->Run(operands, aligned);
    EXPECT_TRUE(status.ok()) << status;
    operands[2] = want.data();
    EXPECT_TRUE(reference->Run(operands, nullptr).ok());
  }
  std::vector<bool> covered = Covered(desc.operands[2]);
  double largest = 1e-30, difference = 0;
  for (size_t i = 0; i < covered.size(); ++i) {
    if (!covered[i]) {
      result.damaged = result.damaged || got.At(i) != before.At(i);
      continue;
    }
    largest = std::max(largest, std::abs(want.At(i)));
    double d = std::abs(want.At(i) - got.At(i));
    difference = d <= difference ? difference : d;  // keeps a NaN
  }
  result.error = difference / largest;
  return result;
}

}  // namespace commsched::testing
