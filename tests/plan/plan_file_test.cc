// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

namespace commsched::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Read(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Every plan that was ever written with a released schema must keep loading,
// with what it says unchanged. v<n>.plan is one of schema version n; it holds
// examples/digits.mlir for 4 workers.
class FrozenPlan : public ::testing::TestWithParam<uint32_t> {
 protected:
  std::string Bytes() {
    return Read(std::filesystem::path(COMMSCHED_FROZEN_PLANS) /
                ("v" + std::to_string(GetParam()) + ".plan"));
  }
};

TEST_P(FrozenPlan, Loads) {
  Plan plan;
  ASSERT_EQ(Deserialize(Bytes(), &plan), "");
  EXPECT_EQ(plan.schema_version(), GetParam());
  EXPECT_EQ(plan.cluster().nodes(), 4u);
  ASSERT_THAT(plan.roles(), SizeIs(1));
  EXPECT_EQ(plan.roles(0).count(), 4u);
  EXPECT_THAT(plan.slots(), SizeIs(12));
  ASSERT_THAT(plan.functions(), SizeIs(2));
  const Function &step = plan.functions(0);
  EXPECT_EQ(step.name(), "step");
  EXPECT_TRUE(step.is_step());
  EXPECT_EQ(step.global_batch(), 64u);
  ASSERT_THAT(step.outputs(), SizeIs(1));
  EXPECT_EQ(step.outputs(0).metric(), "loss");
  EXPECT_EQ(plan.functions(1).name(), "eval");
  ASSERT_THAT(plan.objects(), SizeIs(1));
  EXPECT_EQ(plan.objects(0).target(), "x86_64-unknown-linux-gnu;x86-64-v3");
  EXPECT_EQ(plan.objects(0).elf().substr(0, 4),
            "\x7f"
            "ELF");
}

// References point at something, whatever reads the plan.
TEST_P(FrozenPlan, IsConsistent) {
  Plan plan;
  ASSERT_EQ(Deserialize(Bytes(), &plan), "");
  std::map<std::string, int> kinds;
  for (const Kernel &kernel : plan.kernels()) {
    ++kinds[kernel.kind()];
    EXPECT_THAT(kernel.operands(), SizeIs(3));
    for (const KernelTensor &operand : kernel.operands())
      EXPECT_EQ(operand.dims_size(), operand.strides_size());
  }
  EXPECT_GT(kinds["matmul"], 0);
  EXPECT_GT(kinds["convolution_forward"], 0);
  EXPECT_GT(kinds["convolution_backward_weights"], 0);
  for (const Function &function : plan.functions()) {
    auto is_buffer = [&](uint32_t b) {
      return b < static_cast<uint32_t>(function.buffers_size());
    };
    for (const Instruction &instruction : function.instructions()) {
      EXPECT_LT(instruction.location(), static_cast<uint32_t>(plan.locations_size()));
      for (const Dependence &d : instruction.dependences()) {
        EXPECT_LT(d.instruction(), static_cast<uint32_t>(function.instructions_size()));
        EXPECT_LE(d.distance(), 1u);
      }
      if (instruction.has_run()) {
        EXPECT_NE(instruction.run().symbol(), "");
        for (uint32_t b : instruction.run().inputs()) EXPECT_TRUE(is_buffer(b));
        for (uint32_t b : instruction.run().outputs()) EXPECT_TRUE(is_buffer(b));
      }
      if (instruction.has_communicate()) {
        EXPECT_TRUE(is_buffer(instruction.communicate().buffer()));
        EXPECT_GT(instruction.communicate().phases_size(), 0);
      }
    }
    for (const Buffer &buffer : function.buffers())
      if (buffer.kind() == Buffer::ARENA) {
        EXPECT_EQ(buffer.offset() % 64, 0u);
        EXPECT_LT(buffer.offset(), function.arena_bytes());
      }
  }
}

// This build writes what it read: nothing of an old plan is dropped.
TEST_P(FrozenPlan, SurvivesARoundTrip) {
  std::string bytes = Bytes();
  Plan plan;
  ASSERT_EQ(Deserialize(bytes, &plan), "");
  EXPECT_EQ(Serialize(plan), bytes);
}

INSTANTIATE_TEST_SUITE_P(All, FrozenPlan, ::testing::Range(1u, kSchemaVersion + 1));

Plan SmallPlan() {
  Plan plan;
  plan.set_schema_version(kSchemaVersion);
  plan.set_producer("test");
  return plan;
}

TEST(PlanFile, RefusesWhatIsNotAPlan) {
  Plan plan;
  EXPECT_EQ(Deserialize("", &plan), "not a CommSched plan: it is empty");
  EXPECT_EQ(Deserialize("module {}", &plan), "not a CommSched plan");
}

TEST(PlanFile, NamesAnotherHeaderVersion) {
  std::string bytes = Serialize(Plan());
  bytes[7] = 2;
  Plan plan;
  EXPECT_EQ(Deserialize(bytes, &plan),
            "plan has header version 2, this build reads 1: it is of another version "
            "of CommSched");
}

TEST(PlanFile, RefusesEveryTruncation) {
  std::string bytes = Serialize(SmallPlan());
  for (size_t n = 8; n < bytes.size(); ++n) {
    Plan plan;
    EXPECT_THAT(Deserialize(std::string_view(bytes).substr(0, n), &plan),
                HasSubstr("truncated"))
        << n;
  }
}

TEST(PlanFile, RefusesEveryFlippedBit) {
  std::string bytes = Serialize(SmallPlan());
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    Plan plan;
    EXPECT_NE(Deserialize(damaged, &plan), "") << "bit " << i;
  }
}

TEST(PlanFile, RefusesBytesAfterTheEnd) {
  Plan plan;
  EXPECT_THAT(Deserialize(Serialize(SmallPlan()) + "x", &plan),
              HasSubstr("1 bytes after its end"));
}

TEST(PlanFile, RefusesANewerSchema) {
  Plan newer = SmallPlan(), plan;
  newer.set_schema_version(kSchemaVersion + 1);
  EXPECT_THAT(Deserialize(Serialize(newer), &plan),
              HasSubstr("this build reads up to " + std::to_string(kSchemaVersion)));
}

TEST(PlanFile, RefusesAnUnknownFeature) {
  Plan newer = SmallPlan(), plan;
  newer.set_required_features(uint64_t{1} << 63);
  EXPECT_THAT(Deserialize(Serialize(newer), &plan),
              HasSubstr("features that this build lacks"));
}

TEST(PlanFile, BytesAreTheSameEveryTime) {
  Plan plan = SmallPlan();
  Kernel *kernel = plan.add_kernels();
  for (int i = 0; i < 20; ++i)
    (*kernel->mutable_attributes())["a" + std::to_string(i)].add_values(i);
  Plan copy;
  Kernel *other = copy.add_kernels();
  copy.set_schema_version(kSchemaVersion);
  copy.set_producer("test");
  for (int i = 19; i >= 0; --i)
    (*other->mutable_attributes())["a" + std::to_string(i)].add_values(i);
  EXPECT_EQ(Serialize(plan), Serialize(copy));
}

}  // namespace
}  // namespace commsched::plan
