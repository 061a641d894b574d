// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problems and schedules of which everything is known.

#include "tests/passes/schedule/Layers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace commsched::schedule {
namespace {

using testing::HasSubstr;

double period(const Problem &problem, const Schedule &schedule) {
  EXPECT_EQ(check(problem), std::nullopt);
  EXPECT_EQ(verify(problem, schedule), std::nullopt);
  Evaluation evaluation = evaluate(problem, schedule);
  EXPECT_TRUE(evaluation.settled);
  return evaluation.period;
}

// Layers of 2 slots each way, tensors of 3, 6 and 3 slots pushed and pulled.
TEST(EvaluateTest, PushAndPullOfThreeLayers) {
  Problem problem = layers(2, 2, {3, 6, 3}, 2);
  EXPECT_EQ(period(problem, sliced(problem, 6, true)), 26);
  EXPECT_EQ(period(problem, sliced(problem, 1, false)), 18);
}

// Ops of 1 slot, tensors of 2: compute stands still for 4 slots, or for 2.
TEST(EvaluateTest, DelayBetweenSteps) {
  Problem problem = layers(1, 1, {2, 2, 2});
  EXPECT_EQ(period(problem, sliced(problem, 2, true)), 6 + 4);
  EXPECT_EQ(period(problem, sliced(problem, 1, false)), 6 + 2);
}

TEST(EvaluateTest, SaysWhatIsExposed) {
  Problem problem = layers(1, 1, {2, 2, 2});
  Evaluation evaluation = evaluate(problem, sliced(problem, 1, false));
  EXPECT_EQ(evaluation.exposed, (std::vector<double>{2, 0, 0}));
  EXPECT_EQ(evaluation.firstStep, 6);
  Schedule schedule = sliced(problem, 1, false);
  schedule.barrier = true;
  evaluation = evaluate(problem, schedule);
  EXPECT_EQ(evaluation.period, 10);
  EXPECT_EQ(evaluation.exposed, (std::vector<double>{0, 0, 4}));
}

// One op of 10 slots, a tensor of 4 whose message costs 3 on the link and 5 more
// until it has arrived.
TEST(EvaluateTest, CountsOverheadAndLatency) {
  Problem problem = layers(5, 5, {4});
  problem.communications[0].stages[0].overhead = 3;
  problem.communications[0].stages[0].latency = 5;
  Schedule schedule = sliced(problem, 4, false);
  EXPECT_EQ(period(problem, schedule), 10 + 3 + 4 + 5);
  // Two messages: the second one waits for the first one's arrival, or does not.
  schedule = sliced(problem, 2, false);
  EXPECT_EQ(period(problem, schedule), 10 + 2 * (3 + 2 + 5));
  schedule.credit[0] = kNoLimit;
  EXPECT_EQ(period(problem, schedule), 10 + 2 * (3 + 2) + 5);
}

// A tensor of 4 whose update takes 10 slots, at first in one message, then in two: the
// second one is updated for 5 behind the last byte.
TEST(EvaluateTest, EachMessageTakesItsShareOfTheUpdate) {
  Problem problem = layers(5, 5, {4});
  problem.communications[0].stages[0].update = 10;
  Schedule schedule = sliced(problem, 4, false);
  EXPECT_EQ(period(problem, schedule), 10 + 4 + 10);
  schedule = sliced(problem, 2, false);
  schedule.credit[0] = kNoLimit;
  EXPECT_EQ(period(problem, schedule), 10 + 4 + 5);
  // Of 3 and 1: rounded up.
  schedule.messages[0].pieces[0].end = schedule.messages[1].pieces[0].begin = 3;
  EXPECT_EQ(period(problem, schedule), 10 + 3 + 8);
}

// Two tensors in one message: both wait for the second, and pay once.
TEST(EvaluateTest, SendsPiecesOfSeveralTensorsAtOnce) {
  Problem problem = layers(1, 1, {2, 2});
  for (Communication &communication : problem.communications)
    communication.stages[0].overhead = 4;
  EXPECT_EQ(period(problem, sliced(problem, 2, false)), 4 + 5 + 6);
  Schedule schedule = sliced(problem, 2, false);
  schedule.messages[0].pieces.push_back(schedule.messages[1].pieces[0]);
  schedule.messages.pop_back();
  EXPECT_EQ(period(problem, schedule), 4 + 8);
}

// What no op waits for is done before the step after the next.
TEST(EvaluateTest, HoldsBackStepsThatAreTooFarAhead) {
  Problem problem = layers(1, 1, {10});
  problem.communications[0].consumers.clear();
  Schedule schedule;
  schedule.order = programOrder(problem);
  schedule.messages = {{{{0, 0, 10}}, {0}}};
  schedule.credit = {0};
  Evaluation evaluation = evaluate(problem, schedule);
  EXPECT_EQ(evaluation.period, 10);
  EXPECT_EQ(evaluation.exposed, (std::vector<double>{8}));
}

TEST(EvaluateTest, RunsStreamsSideBySide) {
  Problem problem;
  problem.streams = 2;
  problem.ops = {{"a", 0, 3, {}, 0}, {"b", 1, 4, {0}, 0}, {"c", 0, 2, {}, 0}};
  Schedule schedule;
  schedule.order = programOrder(problem);
  EXPECT_EQ(period(problem, schedule), 5);
}

TEST(EvaluateTest, EndsWithoutAnyTime) {
  Problem problem = layers(0, 0, {1});
  problem.communications[0].stages[0].bytes = 0;
  EXPECT_EQ(evaluate(problem, sliced(problem, 1, false)).period, 0);
}

std::string wrong(const Problem &problem, const Schedule &schedule) {
  return verify(problem, schedule).value_or("nothing");
}

TEST(VerifyTest, FindsWhatIsWrong) {
  Problem problem = layers(1, 1, {2, 2});
  Schedule good = sliced(problem, 1, false);
  EXPECT_EQ(wrong(problem, good), "nothing");
  Schedule bad = good;
  bad.messages.pop_back();
  EXPECT_EQ(wrong(problem, bad),
            "bytes from 1 of communication 1 must be sent exactly once");
  bad = good;
  bad.messages.push_back(bad.messages.back());
  EXPECT_EQ(wrong(problem, bad),
            "bytes from 1 of communication 1 must be sent exactly once");
  bad = good;
  std::swap(bad.order[0][0], bad.order[0][1]);
  EXPECT_EQ(wrong(problem, bad), "op 0 waits for itself");
  bad = good;
  bad.order[0].pop_back();
  EXPECT_EQ(wrong(problem, bad), "op 3 does not run");
  bad = good;
  bad.messages[0].priorities.clear();
  EXPECT_THAT(wrong(problem, bad), HasSubstr("message 0 must have 1 priorities"));
  bad = good;
  bad.credit.clear();
  EXPECT_THAT(wrong(problem, bad), HasSubstr("a credit for each of 1 links"));
  problem.communications[0].divisible = false;
  EXPECT_EQ(wrong(problem, good),
            "message 0: communication 0 must not be divided");
}

// A message of two tensors, where an op needs the one before it makes the other.
TEST(VerifyTest, FindsMessagesThatWaitForThemselves) {
  Problem problem = layers(1, 1, {2, 2});
  problem.communications[1].consumers = {{3, 0}};
  Schedule schedule = sliced(problem, 2, false);
  EXPECT_EQ(wrong(problem, schedule), "nothing");
  schedule.messages[0].pieces.push_back(schedule.messages[1].pieces[0]);
  schedule.messages.pop_back();
  EXPECT_EQ(wrong(problem, schedule), "op 3 waits for itself");
}

// Both passes of an op's results are held until what uses them has run.
TEST(VerifyTest, LimitsMemory) {
  Problem problem;
  problem.ops = {{"a", 0, 1, {}, 8}, {"b", 0, 1, {0}, 0}, {"c", 0, 1, {}, 8}, {"d", 0, 1, {2}, 0}};
  EXPECT_EQ(peakBytes(problem, {{0, 1, 2, 3}}), 8);
  EXPECT_EQ(peakBytes(problem, {{0, 2, 1, 3}}), 16);
  Schedule schedule;
  schedule.order = {{0, 2, 1, 3}};
  EXPECT_EQ(wrong(problem, schedule), "nothing");
  problem.memoryLimit = 8;
  EXPECT_EQ(wrong(problem, schedule), "nothing");
  problem.memoryLimit = 7;
  EXPECT_EQ(wrong(problem, schedule),
            "the order must hold at most 15 bytes, got: 16");
}

TEST(CheckTest, FindsWhatIsWrong) {
  auto wrong = [](auto change) {
    Problem problem = layers(1, 1, {2, 2});
    change(problem);
    return check(problem).value_or("nothing");
  };
  EXPECT_EQ(wrong([](Problem &p) { p.links[0].bytesPerSecond = 0; }),
            "link 0 ('link0'): bytes per second must be positive, got: 0");
  for (auto change : {+[](Problem &p) { p.links[0].packetBytes = -1; },
                      +[](Problem &p) { p.links[0].aheadBytes = (int64_t{1} << 40) + 1; }})
    EXPECT_THAT(wrong(change), HasSubstr("bytes of packets, and taken ahead, must be 0 to 1099511627776"));
  EXPECT_THAT(wrong([](Problem &p) { p.links[0].packetBytes = 1 << 22, p.links[0].bytesPerSecond = 1; }),
              HasSubstr("packets take longer than can be counted"));
  EXPECT_EQ(wrong([](Problem &p) { p.links[0].peers = 31; }),
            "link 0 ('link0'): peers must be 1 to 30, got: 31");
  EXPECT_EQ(wrong([](Problem &p) { p.links[0].peers = 2, p.links[0].byConnection = true; }),
            "link 0 ('link0'): peers must be 1 on a link of connections, got: 2");
  EXPECT_EQ(wrong([](Problem &p) { p.links[0].rounds = 1025; }),
            "link 0 ('link0'): rounds must be 1 to 1024, got: 1025");
  EXPECT_EQ(wrong([](Problem &p) { p.links[0].rounds = 2, p.links[0].peers = 2; }),
            "link 0 ('link0'): rounds must be 1 on a link of several peers, got: 2");
  EXPECT_EQ(wrong([](Problem &p) { p.links[0].onceBytes = -1; }),
            "link 0 ('link0'): what is sent once must not be negative, got: -1");
  EXPECT_EQ(wrong([](Problem &p) { p.ops[1].duration = -1; }),
            "op 1 ('forward1'): duration must not be negative, got: -1");
  EXPECT_EQ(wrong([](Problem &p) { p.ops[1].stream = 1; }),
            "op 1 ('forward1'): stream must be less than 1, got: 1");
  EXPECT_EQ(wrong([](Problem &p) { p.ops[1].after = {1}; }),
            "op 1 ('forward1'): waits for op 1, which does not come before it");
  EXPECT_THAT(wrong([](Problem &p) { p.communications[0].consumers = {{2, 0}}; }),
              HasSubstr("does not come after its producers"));
  EXPECT_EQ(wrong([](Problem &p) { p.communications[0].producers.clear(); }),
            "communication 0 ('layer0'): must have a producer");
  EXPECT_EQ(wrong([](Problem &p) { p.communications[0].stages.clear(); }),
            "communication 0 ('layer0'): must have a stage");
  EXPECT_THAT(wrong([](Problem &p) { p.communications[1].stages[0].latency = 1; }),
              HasSubstr("which is of the same kind"));
  EXPECT_THAT(wrong([](Problem &p) { p.ops[0].duration = INT64_MAX; }),
              HasSubstr("too long"));
}

TEST(ProblemTest, DividesBytesWithoutRest) {
  Communication communication;
  communication.bytes = 7;
  Stage stage{0, 10, 0, 0};
  int64_t sum = 0;
  for (int64_t begin = 0; begin < 7; ++begin)
    sum += stageBytes(communication, stage, begin, begin + 1);
  EXPECT_EQ(sum, 10);
  EXPECT_EQ(transferTime({"", 3'000'000'000}, 4), 2);
}

} // namespace
} // namespace commsched::schedule
