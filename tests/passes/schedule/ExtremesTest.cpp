// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problems at the limits of what can be counted, and beyond.

#include "passes/schedule/solver/Solve.h"
#include "passes/schedule/solver/baselines/Baselines.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/LittleEffort.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace commsched::schedule {
namespace {

using testing::HasSubstr;

constexpr int64_t kHuge = int64_t{1} << 59;

std::string wrong(const Problem &problem) { return check(problem).value_or("nothing"); }

void expectSolved(const Problem &problem) {
  ASSERT_EQ(wrong(problem), "nothing");
  Solution solution = solve(problem, little());
  EXPECT_EQ(verify(problem, solution.schedule), std::nullopt);
  EXPECT_GE(solution.evaluation.period * (1 + 1e-9), solution.bound.period);
  EXPECT_GE(solution.bound.period, solution.anyOrderBound.period);
  EXPECT_GE(solution.anyOrderBound.period, 0);
  for (const auto &[name, period] : solution.baselines)
    EXPECT_LE(solution.evaluation.period, period) << name;
}

// As many bytes as can be counted, on a link that sends them in a second.
TEST(ExtremesTest, HugeTensors) {
  Problem one = layers(0, 0, {kHuge / 4, kHuge / 8, 1});
  one.links[0].bytesPerSecond = kHuge;
  EXPECT_EQ(evaluate(one, fifo(View(one, programOrder(one)))).period, 375'000'001);
  for (unsigned links : {1u, 2u}) {
    Problem problem = layers(1000, 1000, {kHuge / 4, kHuge / 8, 1}, links);
    for (Link &link : problem.links)
      link.bytesPerSecond = kHuge;
    for (Communication &communication : problem.communications)
      for (Stage &stage : communication.stages)
        stage.overhead = 1000, stage.latency = 100;
    expectSolved(problem);
  }
}

TEST(ExtremesTest, BytesThatCannotBeCounted) {
  Problem problem = layers(1, 1, {1, 1, 1});
  for (Communication &communication : problem.communications)
    communication.bytes = kHuge;
  EXPECT_EQ(wrong(problem), "communication 2 ('layer2'): the step has more bytes than "
                            "can be counted");
  problem = layers(1, 1, {1, 1, 1});
  problem.links[0].bytesPerSecond = INT64_MAX;
  for (Communication &communication : problem.communications)
    communication.stages[0].bytes = kHuge;
  EXPECT_EQ(wrong(problem), "communication 2 ('layer2'): links carry more bytes in a "
                            "step than can be counted");
  problem.communications[0].stages[0].bytes = INT64_MAX;
  EXPECT_THAT(wrong(problem), HasSubstr("communication 0 ('layer0'): links carry more"));
  problem = layers(1, 1, {1});
  for (Op &op : problem.ops)
    op.extraBytes = INT64_MAX / 2;
  EXPECT_EQ(wrong(problem),
            "op 0 ('forward0'): ops hold more bytes than can be counted");
}

TEST(ExtremesTest, TimesThatCannotBeCounted) {
  Problem problem = layers(kMaxStepTime / 2, kMaxStepTime / 2, {1, 1});
  EXPECT_THAT(wrong(problem), HasSubstr("the step takes too long"));
  problem = layers(INT64_MAX, INT64_MAX, {1});
  EXPECT_THAT(wrong(problem), HasSubstr("op 0 ('forward0'): the step takes too long"));
  problem = layers(1, 1, {kHuge});
  EXPECT_THAT(wrong(problem), HasSubstr("communication 0 ('layer0'): the step takes too"));
  problem = layers(1, 1, {1});
  problem.communications[0].stages[0].latency = INT64_MAX;
  EXPECT_THAT(wrong(problem), HasSubstr("the step takes too long"));
  problem = layers(1, 1, {1});
  problem.streams = ~0u;
  EXPECT_EQ(wrong(problem),
            "the problem must have at most 4096 streams, got: 4294967295");
}

// A message may take half an hour, but not each of a million.
TEST(ExtremesTest, MessagesThatTakeTooLong) {
  Problem problem = layers(1, 1, {int64_t{1} << 30});
  problem.communications[0].stages[0].overhead = Time{1} << 41;
  expectSolved(problem);
  Schedule schedule = sliced(problem, int64_t{1} << 15, false);
  EXPECT_THAT(verify(problem, schedule).value_or("nothing"),
              HasSubstr("the step takes too long to be counted in nanoseconds, with "
                        "32768 messages"));
  EXPECT_EQ(evaluate(problem, schedule).period, kNever);
}

TEST(ExtremesTest, NothingTakesAnyTime) {
  for (unsigned links : {1u, 2u}) {
    Problem problem = layers(0, 0, {5, 1, 7}, links);
    for (Communication &communication : problem.communications)
      for (Stage &stage : communication.stages)
        stage.bytes = 0;
    expectSolved(problem);
    EXPECT_EQ(solve(problem, little()).evaluation.period, 0);
    for (Communication &communication : problem.communications)
      communication.stages[0].overhead = 3;
    expectSolved(problem);
    problem = layers(0, 0, {5, 1, 7}, links);
    expectSolved(problem);
  }
}

// One op makes the gradients of thousands of tensors, another one needs them.
TEST(ExtremesTest, ThousandsOfTensorsOfAnOp) {
  Problem problem = layers(100, 100, {1});
  Communication one = problem.communications[0];
  one.stages[0].overhead = 7;
  for (unsigned i = 0; i < 5000; ++i)
    problem.communications.push_back(one);
  problem.communications[0].stages[0].overhead = 7;
  expectSolved(problem);
  // All in one message.
  EXPECT_EQ(solve(problem, little()).evaluation.period, 200 + 5001 + 7);
}

// A schedule in which ops wait for each other ends, though verify() refuses it.
TEST(ExtremesTest, OpsThatWaitForEachOther) {
  Problem problem = layers(1, 1, {2, 2});
  Schedule schedule = sliced(problem, 1, false);
  std::swap(schedule.order[0][0], schedule.order[0][1]);
  ASSERT_NE(verify(problem, schedule), std::nullopt);
  Evaluation evaluation = evaluate(problem, schedule);
  EXPECT_EQ(evaluation.period, kNever);
  EXPECT_FALSE(evaluation.settled);
}

} // namespace
} // namespace commsched::schedule
