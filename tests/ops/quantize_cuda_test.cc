// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA kernels of quantization, on a device or emulated, against the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/sparse/quantize.h"
#include "tests/ops/cuda_machine.h"
#include "tests/ops/sparse_data.h"

namespace commsched {
namespace {

using ops::Element;
using testing::Array;
using testing::CudaMachine;
using testing::Data;

constexpr Element kElements[] = {Element::kF32, Element::kF16, Element::kBF16};

class QuantizeCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    owned_ = testing::MakeCudaMachine();
    machine_ = owned_.get();
    if (machine_ == nullptr) GTEST_SKIP() << "no CUDA device";
  }

  bool Same(const void *wanted, const void *device, size_t bytes) {
    std::vector<std::byte> copy(bytes + 1);
    machine_->Read(copy.data(), device, bytes);
    return std::memcmp(copy.data(), wanted, bytes) == 0;
  }
  // Both ways, compared with the CPU.
  void Check(Element from, Element to, Data data, int64_t count, int64_t block) {
    SCOPED_TRACE(absl::StrCat(ops::ElementName(from), " to ", ops::ElementName(to), " data ",
                              int(data), " count ", count, " block ", block));
    const Array x = MakeArray(from, data, count, 5);
    const size_t bytes = size_t(count) * ops::ElementBytes(from);
    const size_t code_bytes = size_t(count) * ops::ElementBytes(to);
    std::vector<std::byte> codes(code_bytes + 1);
    std::vector<float> scales(to == Element::kI8 ? size_t((count + block - 1) / block) : 0);
    ASSERT_TRUE(ops::sparse::Quantize(from, to, x.data(), count, block, codes.data(), scales.data())
                    .ok());
    Array back(from, count);
    ops::sparse::Dequantize(to, from, codes.data(), count, block, scales.data(), back.data());

    void *device_codes = machine_->Allocate(code_bytes);
    auto *device_scales = static_cast<float *>(machine_->Allocate(scales.size() * sizeof(float)));
    void *device_back = machine_->Allocate(bytes);
    EXPECT_EQ(machine_
                  ->Quantize(from, to, machine_->Copy(x.data(), bytes), count, block, device_codes,
                             device_scales)
                  .count,
              0);
    EXPECT_TRUE(Same(codes.data(), device_codes, code_bytes));
    EXPECT_TRUE(Same(scales.data(), device_scales, scales.size() * sizeof(float)));
    if (count != 0)
      machine_->Dequantize(to, from, device_codes, count, block, device_scales, device_back);
    EXPECT_TRUE(Same(back.data(), device_back, bytes));
    EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty());
  }

  void TearDown() override { EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty()); }
  std::unique_ptr<CudaMachine> owned_;
  CudaMachine *machine_ = nullptr;
};

TEST_F(QuantizeCudaTest, Floats) {
  for (Element from : kElements)
    for (Element to : {Element::kF16, Element::kBF16}) {
      for (Data data : testing::kAllData) Check(from, to, data, 1000, 1000);
      for (int64_t count : {0, 1, 9001}) Check(from, to, Data::kHeavyTail, count, 7);
    }
}

TEST_F(QuantizeCudaTest, Integers) {
  for (Element from : kElements) {
    for (Data data : testing::kAllData)
      for (int64_t block : {100, 5000}) Check(from, Element::kI8, data, 1500, block);
    for (int64_t block : {1, 32, 64, 100, 256, 4096, 9001})
      Check(from, Element::kI8, Data::kHeavyTail, 9001, block);
    for (int64_t count : {0, 1, 33}) Check(from, Element::kI8, Data::kNormal, count, 32);
  }
}

TEST_F(QuantizeCudaTest, ReportsWhatIsNotFinite) {
  for (Element from : kElements)
    for (Element to : {Element::kI8, Element::kBF16}) {
      Array x = MakeArray(from, Data::kNormal, 5000, 10);
      x.Set(4400, NAN), x.Set(90, -INFINITY);
      const auto found = machine_->Quantize(
          from, to, machine_->Copy(x.data(), 5000 * ops::ElementBytes(from)), 5000, 100,
          machine_->Allocate(10000), static_cast<float *>(machine_->Allocate(200)));
      EXPECT_EQ(found.count, 2);
      EXPECT_EQ(found.first, 90);
      EXPECT_THAT(testing::TakeFindings(), ::testing::IsEmpty());
    }
}

}  // namespace
}  // namespace commsched
