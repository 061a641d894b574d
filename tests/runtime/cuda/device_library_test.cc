// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library kernels of a plan, from the library that a DeviceExecutor finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>

#include "runtime/cuda/device_libraries.h"
#include "runtime/cuda/memory_needs.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_cudnn.h"
#include "tests/runtime/plan_builder.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// y = x * w along one dimension, of x f32[1,1,4], w f32[1,1,2], in a slot each.
std::string ConvolutionPlan() {
  testing::PlanBuilder builder(2);
  plan::Plan &plan = builder.proto();
  plan.clear_objects();
  plan.mutable_cluster()->set_device_kind("cuda");
  plan.set_required_features(uint64_t{1} << plan::FEATURE_CUDA);
  const std::vector<int64_t> sizes[] = {{1, 1, 4}, {1, 1, 2}, {1, 1, 3}};
  testing::FunctionBuilder step = builder.Function("step");
  std::vector<uint32_t> buffers;
  plan::Kernel *kernel = plan.add_kernels();
  kernel->set_kind("convolution_forward");
  plan::Cuda *cuda = plan.mutable_cuda();
  cuda->set_architecture("sm_90");
  cuda->set_ptx(".version 8.0\n");
  plan::Cuda::Fragment *fragment = cuda->add_fragments();
  fragment->set_symbol("convolution");
  fragment->set_inputs(2);
  fragment->set_outputs(1);
  plan::Cuda::LibraryCall *call = fragment->add_steps()->mutable_library();
  plan::Launch launch;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t slot = builder.Slot(std::string(1, "xwy"[i]), plan::F32, sizes[i]);
    const uint32_t buffer = step.Slot(i == 2, slot, plan::F32, sizes[i]);
    plan::KernelTensor *tensor = kernel->add_operands();
    tensor->set_element(plan::F32);
    tensor->mutable_dims()->Add(sizes[i].begin(), sizes[i].end());
    for (int64_t stride : {sizes[i][2], sizes[i][2], int64_t{1}}) tensor->add_strides(stride);
    plan::Cuda::Address *address = call->add_operands();
    address->set_base(i == 2 ? plan::Cuda::Address::OUTPUT : plan::Cuda::Address::INPUT);
    address->set_index(i == 2 ? 0 : i);
    if (i == 2)
      launch.add_outputs(buffer);
    else
      launch.add_inputs(buffer);
  }
  *step.Add("convolution", {})->mutable_launch() = launch;
  return builder.Bytes();
}

// c = a b, of a f32[2,3], b f32[3,2] as its columns lie, in a slot each; of another type if that is given.
std::string ProductPlan(plan::ElementType of_b = plan::F32) {
  testing::PlanBuilder builder(2);
  plan::Plan &plan = builder.proto();
  plan.clear_objects();
  plan.mutable_cluster()->set_device_kind("cuda");
  plan.set_required_features(uint64_t{1} << plan::FEATURE_CUDA);
  const uint32_t slots[] = {builder.Slot("a", plan::F32, {2, 3}), builder.Slot("b", of_b, {2, 3}),
                            builder.Slot("c", plan::F32, {2, 2})};
  testing::FunctionBuilder step = builder.Function("step");
  const uint32_t a = step.Slot(false, slots[0], plan::F32, {2, 3});
  const uint32_t b = step.Slot(false, slots[1], of_b, {2, 3});
  const uint32_t c = step.Slot(true, slots[2], plan::F32, {2, 2});

  plan::Kernel *kernel = plan.add_kernels();
  kernel->set_kind("matmul");
  const auto operand = [&](plan::ElementType element, std::vector<int64_t> dims,
                           std::vector<int64_t> strides) {
    plan::KernelTensor *tensor = kernel->add_operands();
    tensor->set_element(element);
    tensor->mutable_dims()->Add(dims.begin(), dims.end());
    tensor->mutable_strides()->Add(strides.begin(), strides.end());
  };
  operand(plan::F32, {2, 3}, {3, 1});
  operand(of_b, {3, 2}, {1, 3});
  operand(plan::F32, {2, 2}, {2, 1});

  plan::Cuda *cuda = plan.mutable_cuda();
  cuda->set_architecture("sm_90");
  cuda->set_ptx(".version 8.0\n");
  plan::Cuda::Fragment *fragment = cuda->add_fragments();
  fragment->set_symbol("product");
  fragment->set_inputs(2);
  fragment->set_outputs(1);
  plan::Cuda::LibraryCall *call = fragment->add_steps()->mutable_library();
  for (auto [base, index] : {std::pair(plan::Cuda::Address::INPUT, 0u),
                             std::pair(plan::Cuda::Address::INPUT, 1u),
                             std::pair(plan::Cuda::Address::OUTPUT, 0u)}) {
    plan::Cuda::Address *address = call->add_operands();
    address->set_base(base);
    address->set_index(index);
  }
  plan::Launch *launch = step.Add("product", {})->mutable_launch();
  launch->set_fragment(0);
  for (uint32_t input : {a, b}) launch->add_inputs(input);
  launch->add_outputs(c);
  return builder.Bytes();
}

absl::Span<const std::byte> BytesOf(const std::vector<float> &values) {
  return {reinterpret_cast<const std::byte *>(values.data()), values.size() * sizeof(float)};
}

TEST(DeviceLibraryTest, ProductsAreThoseOfTheLibraryThatIsFound) {
  auto image = PlanImage::Load(ProductPlan());
  ASSERT_TRUE(image.ok()) << image.status();
  DeviceJobOptions options;
  options.libraries = LibrariesWithFakeCublasLt();
  DeviceJob job(*image, options);
  ASSERT_TRUE(job.status.ok()) << job.status;
  for (int r = 0; r < 2; ++r) {
    DeviceExecutor &rank = job.rank(r);
    ASSERT_TRUE(rank.SetSlot(0, BytesOf({1, 2, 3, 4, 5, 6})).ok());
    ASSERT_TRUE(rank.SetSlot(1, BytesOf({1, 0, 2, 0, 1, float(r)})).ok());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(rank.Enqueue(0, {}).ok());
    std::vector<float> c(4);
    ASSERT_TRUE(rank.GetSlot(2, {reinterpret_cast<std::byte *>(c.data()), 16}).ok());
    EXPECT_THAT(c, ElementsAre(7, 2 + 3 * r, 16, 5 + 6 * r));
    // One compute stream calls library kernels.
    const absl::StatusOr<MemoryNeeds> needs = MemoryNeedsOf(rank.program());
    ASSERT_TRUE(needs.ok()) << needs.status();
    EXPECT_EQ(needs->workspaces, kProductWorkspaceBytes);
    EXPECT_EQ(needs->device(), rank.device_bytes());
  }
  const DeviceJob::End end = job.Finish();
  EXPECT_THAT(end.findings, IsEmpty());
  EXPECT_EQ(end.left, 0u);
  EXPECT_EQ(LiveOfFakeCublasLt(), 0u);
}

TEST(DeviceLibraryTest, ConvolutionsAreThoseOfTheLibraryThatIsFound) {
  auto image = PlanImage::Load(ConvolutionPlan());
  ASSERT_TRUE(image.ok()) << image.status();
  DeviceJobOptions options;
  options.libraries = LibrariesWithFakeCudnn();
  DeviceJob job(*image, options);
  ASSERT_TRUE(job.status.ok()) << job.status;
  for (int r = 0; r < 2; ++r) {
    DeviceExecutor &rank = job.rank(r);
    ASSERT_TRUE(rank.SetSlot(0, BytesOf({1, 2, 3, 5})).ok());
    ASSERT_TRUE(rank.SetSlot(1, BytesOf({10, float(r)})).ok());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(rank.Enqueue(0, {}).ok());
    std::vector<float> y(3);
    ASSERT_TRUE(rank.GetSlot(2, {reinterpret_cast<std::byte *>(y.data()), 12}).ok());
    EXPECT_THAT(y, ElementsAre(10 + 2 * r, 20 + 3 * r, 30 + 5 * r));
    const absl::StatusOr<MemoryNeeds> needs = MemoryNeedsOf(rank.program());
    ASSERT_TRUE(needs.ok()) << needs.status();
    EXPECT_EQ(needs->workspaces, kConvolutionWorkspaceBytes);
    EXPECT_EQ(needs->device(), rank.device_bytes());
  }
  const DeviceJob::End end = job.Finish();
  EXPECT_THAT(end.findings, IsEmpty());
  EXPECT_EQ(end.left, 0u);
  EXPECT_EQ(LiveOfFakeCudnn(), 0u);
}

TEST(DeviceLibraryTest, SaysWhatIsNotThere) {
  const auto refused = [](const std::string &plan, Libraries libraries) {
    auto image = PlanImage::Load(plan);
    EXPECT_TRUE(image.ok()) << image.status();
    DeviceJobOptions options;
    options.libraries = std::move(libraries);
    DeviceJob job(*image, options);
    const absl::Status status = job.status;
    EXPECT_EQ(job.Finish().left, 0u);
    EXPECT_EQ(LiveOfFakeCublasLt(), 0u);
    return status;
  };
  Libraries nothing = LibrariesWithFakeCublasLt();
  nothing.open = [](const char *file, std::string *why) -> void * {
    *why = std::string(file) + ": cannot open shared object file";
    return nullptr;
  };
  absl::Status status = refused(ProductPlan(), nothing);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(" of 2: the plan calls library kernels: no cuBLASLt: libcublasLt.so.13: cannot open"));
  // A library that no kernel needs is not missed, and another is.
  status = refused(ConvolutionPlan(), LibrariesWithFakeCublasLt());
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(" of 2: the plan calls library kernels: no cuDNN: libcudnn.so.9: cannot open"));
  status = refused(ProductPlan(plan::BF16), LibrariesWithFakeCublasLt());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(" of 2: kernel 0, matmul f32[2,3] x bf16[3,2](1,3) = f32[2,2]: element types must be f64, "));
}

}  // namespace
}  // namespace commsched::runtime::cuda
