// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that share a message and are read part by part, against the same tensors in
// messages of their own: the same bits, whatever the sizes and however many ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "tests/cases.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace parts {
namespace {

using testing::BytesOf;
using ::testing::HasSubstr;
using testing::MutableBytesOf;
using testing::PlanBuilder;

struct Shape {
  int nodes;
  std::vector<plan::Phase> phases;
  std::vector<int64_t> parts;
  int64_t elements() const {
    int64_t sum = 0;
    for (int64_t part : parts) sum += part;
    return sum;
  }
};

// Sums the batch over the ranks and copies the tensors that it consists of to slots of
// theirs; in one message, or one for each.
void Build(const Shape &shape, bool fused, PlanBuilder *plan) {
  std::vector<uint32_t> slots;
  for (size_t p = 0; p < shape.parts.size(); ++p)
    slots.push_back(plan->Slot(absl::StrCat("p", p), plan::F32, {shape.parts[p]}));
  auto f = plan->Function("step");
  const uint32_t x = f.Batch("x", plan::F32, {1, shape.elements()});
  uint32_t whole = 0, message = 0;
  if (fused) {
    plan->proto().set_required_features(plan->proto().required_features() |
                                        uint64_t{1} << plan::FEATURE_PARTS |
                                        uint64_t{1} << plan::FEATURE_PARAMETER_SERVER);
    whole = f.Arena(plan::F32, {shape.elements()});
  }
  std::vector<uint32_t> sums, waits, outs;
  uint64_t offset = 0;
  for (size_t p = 0; p < shape.parts.size(); ++p) {
    sums.push_back(fused ? f.Part(whole, offset, plan::F32, {shape.parts[p]})
                         : f.Arena(plan::F32, {shape.parts[p]}));
    outs.push_back(f.Slot(true, slots[p], plan::F32, {shape.parts[p]}));
    offset += uint64_t(shape.parts[p]) * 4;
  }
  if (fused) {
    // The next step's message begins when this one is complete and has been read.
    const uint32_t in = f.Copy(x, whole, {});
    message = f.Communicate("all", whole, shape.phases, {{in}});
    plan::Instruction *all = f.proto()->mutable_instructions(int(message));
    for (int64_t part : shape.parts)
      all->mutable_communicate()->add_part_bytes(uint64_t(part) * 4);
    std::vector<uint32_t> reads;
    for (size_t p = 0; p < shape.parts.size(); ++p) {
      reads.push_back(f.Copy(sums[p], outs[p], {{message}}, /*deferred=*/true));
      f.proto()->mutable_instructions(int(reads[p]))->mutable_dependences(0)->set_part(uint32_t(p));
    }
    reads.push_back(message);
    for (uint32_t read : reads) {
      plan::Dependence *before = f.proto()->mutable_instructions(int(in))->add_dependences();
      before->set_instruction(read);
      before->set_distance(1);
    }
    return;
  }
  offset = 0;
  for (size_t p = 0; p < shape.parts.size(); ++p) {
    const uint32_t own = f.Part(x, offset, plan::F32, {shape.parts[p]});
    offset += uint64_t(shape.parts[p]) * 4;
    const uint32_t in = f.Copy(own, sums[p], {});
    const uint32_t sum = f.Communicate(absl::StrCat("p", p), sums[p], shape.phases, {{in}});
    const uint32_t read = f.Copy(sums[p], outs[p], {{sum}}, /*deferred=*/true);
    plan::Dependence *before = f.proto()->mutable_instructions(int(in))->add_dependences();
    before->set_instruction(read);
    before->set_distance(1);
  }
  plan->proto().set_required_features(plan->proto().required_features() |
                                      uint64_t{1} << plan::FEATURE_PARAMETER_SERVER);
}

// By rank and part, after some steps.
std::vector<std::vector<std::vector<float>>> Results(const Shape &shape, bool fused,
                                                     const std::vector<std::vector<float>> &steps) {
  PlanBuilder plan(shape.nodes);
  Build(shape, fused, &plan);
  auto session = testing::Open(plan);
  std::vector<std::vector<std::vector<float>>> results;
  if (session == nullptr) return results;
  for (const std::vector<float> &values : steps) {
    runtime::GlobalBatch batch;
    batch.Set("x", BytesOf(values), nullptr);
    EXPECT_TRUE(session->Call(0, &batch).ok());
  }
  absl::Status status = session->Drain();
  EXPECT_TRUE(status.ok()) << status;
  for (int r = 0; r < shape.nodes; ++r) {
    auto &own = results.emplace_back();
    for (size_t p = 0; p < shape.parts.size(); ++p) {
      std::vector<float> &value = own.emplace_back(size_t(shape.parts[p]));
      EXPECT_TRUE(session->executor(size_t(r)).GetSlot(uint32_t(p), MutableBytesOf(value)).ok());
    }
  }
  return results;
}

TEST(PartsTest, AreSummedAsTensorsAlone) {
  const Cases cases = casesOf(60);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Shape shape;
    shape.nodes = 2 + int(random() % 4);
    const bool power = (shape.nodes & (shape.nodes - 1)) == 0;
    switch (random() % (power ? 3 : 2)) {
      case 0:
        shape.phases = testing::RingAllReduce(shape.nodes, plan::SUM, 0.5);
        break;
      case 1:
        shape.phases = testing::HalvingAllReduce(shape.nodes, plan::SUM, 0.5);
        break;
      default:
        shape.phases = testing::DoublingAllReduce(shape.nodes, plan::SUM);
    }
    // A few have so many elements that their messages are cut into slices, which those of
    // small ones are not.
    const bool large = seed % 10 == 0;
    for (uint64_t n = 2 + random() % 5; n > 0; --n)
      shape.parts.push_back(int64_t(1 + random() % (large ? 900000 : 200)));
    std::vector<std::vector<float>> steps(large ? 1 : 4);
    std::uniform_real_distribution<float> any(-1, 1);
    for (std::vector<float> &values : steps)
      for (int64_t i = 0; i < shape.nodes * shape.elements(); ++i) values.push_back(any(random));
    const auto alone = Results(shape, /*fused=*/false, steps);
    ASSERT_EQ(alone.size(), size_t(shape.nodes));
    EXPECT_TRUE(Results(shape, /*fused=*/true, steps) == alone);
  }
}

class BadPartsTest : public ::testing::Test {
 protected:
  BadPartsTest() : plan_(2) {
    Build({2, testing::RingAllReduce(2, plan::SUM, 0), {3, 5}}, true, &plan_);
  }
  plan::Function &function() { return *plan_.proto().mutable_functions(0); }
  plan::Communicate &message() {
    return *function().mutable_instructions(1)->mutable_communicate();
  }
  std::string Error() { return testing::LoadError(plan_.Bytes()); }
  PlanBuilder plan_;
};

TEST_F(BadPartsTest, GoodOnesAreNot) { EXPECT_EQ(Error(), ""); }
TEST_F(BadPartsTest, TheFeatureIsNeeded) {
  plan_.proto().set_required_features(plan_.proto().required_features() &
                                      ~(uint64_t{1} << plan::FEATURE_PARTS));
  EXPECT_THAT(Error(), HasSubstr("parts of a message need FEATURE_PARTS"));
}
TEST_F(BadPartsTest, OfOtherSizes) {
  message().set_part_bytes(1, 16);
  EXPECT_THAT(Error(), HasSubstr("parts must be all of f32[8], got: 28 bytes of 32"));
  message().set_part_bytes(1, 24);
  EXPECT_THAT(Error(), HasSubstr("got: 24 bytes of 20"));
  message().set_part_bytes(1, 0);
  EXPECT_THAT(Error(), HasSubstr("got: 0 bytes of 20"));
  message().set_part_bytes(1, 18);
  EXPECT_THAT(Error(), HasSubstr("parts must be elements of f32[8], got: 18 bytes of 20"));
}
TEST_F(BadPartsTest, OfAnotherNumberOfChunks) {
  message().mutable_phases(1)->set_chunks(4);
  EXPECT_THAT(Error(), HasSubstr("phases of parts must have 1 or 2 chunks, got: 4"));
}
TEST_F(BadPartsTest, WaitedForThoughTheyAreNot) {
  function().mutable_instructions(2)->mutable_dependences(0)->set_part(2);
  EXPECT_THAT(Error(), HasSubstr("waits for part 2 of instruction 1, which has 2"));
  function().mutable_instructions(2)->mutable_dependences(0)->set_instruction(0);
  EXPECT_THAT(Error(), HasSubstr("of instruction 0, which has 0"));
}

}  // namespace
}  // namespace parts
}  // namespace commsched
