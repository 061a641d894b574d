// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs when, and why compute stands still.

#include "passes/schedule/solver/Timeline.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace commsched::schedule {
namespace {

// Ops of 1 slot, tensors of 2 in two messages each by order of use. Compute ends when
// w0 is made; both of its messages are sent before any other, so it waits for these 2
// slots and nothing else.
TEST(TimelineTest, OfThreeLayers) {
  Problem problem = layers(1, 1, {2, 2, 2});
  Schedule schedule = sliced(problem, 1, false);
  Timeline timeline = traceSchedule(problem, schedule);
  ASSERT_TRUE(timeline.settled);
  ASSERT_EQ(timeline.steps.size(), 4u);
  for (size_t i = 0; i + 1 < timeline.steps.size(); ++i)
    EXPECT_EQ(timeline.steps[i + 1] - timeline.steps[i], 8);
  std::vector<Timeline::Stall> shown;
  for (const Timeline::Stall &stall : timeline.stalls)
    if (stall.begin == timeline.steps.front())
      shown.push_back(stall);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(problem.ops[shown[0].op].name, "forward0");
  EXPECT_EQ(shown[0].end - shown[0].begin, 2);
  std::vector<Stretch> why = explain(problem, schedule, timeline, shown[0]);
  ASSERT_EQ(why.size(), 2u);
  EXPECT_EQ(why[0].cause, Cause::busy);
  EXPECT_TRUE(why[0].moreUrgent || why[0].other != why[0].message);
  EXPECT_EQ(why[1].cause, Cause::sending);
  EXPECT_EQ(why[1].end - why[1].begin, 1);
}

// First come, first served: the tensor that is needed first is sent last.
TEST(TimelineTest, SaysWhatTheLinkIsBusyWith) {
  Problem problem = layers(1, 1, {2, 6});
  Schedule schedule = sliced(problem, 6, true);
  Timeline timeline = traceSchedule(problem, schedule);
  ASSERT_EQ(timeline.steps.size(), 4u);
  bool any = false;
  for (const Timeline::Stall &stall : timeline.stalls) {
    if (stall.begin < timeline.steps[1] || stall.end > timeline.steps[2] ||
        problem.ops[stall.op].name != "forward0")
      continue;
    any = true;
    // The 6 slots of the other tensor, of which compute of layer 0 hides one.
    std::vector<Stretch> why = explain(problem, schedule, timeline, stall);
    ASSERT_EQ(why.size(), 2u);
    EXPECT_EQ(why[0].cause, Cause::busy);
    EXPECT_EQ(schedule.messages[why[0].other].pieces.front().communication, 1u);
    EXPECT_EQ(why[0].end - why[0].begin, 5);
    EXPECT_EQ(why[1].cause, Cause::sending);
    EXPECT_EQ(why[1].end - why[1].begin, 2);
  }
  EXPECT_TRUE(any);
}

TEST(TimelineTest, SeesOverheadAndLatency) {
  Problem problem = layers(5, 5, {4});
  problem.communications[0].stages[0].overhead = 3;
  problem.communications[0].stages[0].latency = 5;
  Schedule schedule = sliced(problem, 4, false);
  Timeline timeline = traceSchedule(problem, schedule);
  ASSERT_FALSE(timeline.stalls.empty());
  std::vector<Stretch> why =
      explain(problem, schedule, timeline, timeline.stalls.back());
  ASSERT_EQ(why.size(), 2u);
  EXPECT_EQ(why[0].cause, Cause::sending);
  EXPECT_EQ(why[0].end - why[0].begin, 7);
  EXPECT_EQ(why[1].cause, Cause::latency);
  EXPECT_EQ(why[1].end - why[1].begin, 5);
}

// Stretches cover the stall; what they name was there.
void checkStretches(const Problem &problem, const Schedule &schedule,
                    const Timeline &timeline, const Timeline::Stall &stall) {
  std::vector<Stretch> why = explain(problem, schedule, timeline, stall);
  ASSERT_FALSE(why.empty());
  EXPECT_EQ(why.front().begin, stall.begin);
  EXPECT_EQ(why.back().end, stall.end);
  for (size_t i = 0; i < why.size(); ++i) {
    EXPECT_LT(why[i].begin, why[i].end);
    if (i) {
      EXPECT_EQ(why[i].begin, why[i - 1].end);
    }
    if (why[i].cause != Cause::busy && why[i].cause != Cause::sending)
      continue;
    unsigned message = why[i].cause == Cause::busy ? why[i].other : why[i].message;
    unsigned stage = why[i].cause == Cause::busy ? why[i].otherStage : why[i].stage;
    EXPECT_TRUE(std::any_of(
        timeline.transfers.begin(), timeline.transfers.end(),
        [&](const Timeline::Transfer &t) {
          return t.message == message && t.stage == stage &&
                 t.begin <= why[i].begin && t.sent >= why[i].end;
        }));
  }
}

TEST(TimelineTest, AgreesWithTheEvaluatorOnRandomProblems) {
  RandomOptions options;
  options.links = 2;
  options.streams = 2;
  options.maxLatency = 3;
  options.maxOverhead = 2;
  options.maxUpdate = 3;
  unsigned stalls = 0, overtaken = 0;
  Cases cases = casesOf(400);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = randomProblem(seed, options);
    Schedule schedule = randomSchedule(problem, seed, 2);
    if (seed % 2) {
      for (Link &link : problem.links) {
        link.packetBytes = 1 + int64_t(seed / 2 % 3);
        link.aheadBytes = int64_t(seed / 6 % 3);
      }
      schedule.credit.assign(problem.links.size(), kNoLimit);
    }
    if (verify(problem, schedule))
      continue;
    Evaluation evaluation = evaluate(problem, schedule);
    Timeline timeline = traceSchedule(problem, schedule);
    if (evaluation.period >= kNever) {
      EXPECT_TRUE(timeline.steps.empty());
      continue;
    }
    ASSERT_EQ(timeline.steps.size(), 4u);
    EXPECT_EQ(timeline.settled, evaluation.settled);
    // Each op once a step, and each link sends one message at a time.
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      EXPECT_EQ(std::count_if(timeline.runs.begin(), timeline.runs.end(),
                              [&](const Timeline::Run &run) {
                                return run.op == op && run.step == timeline.firstStep;
                              }),
                1);
    std::vector<Time> free(problem.links.size());
    for (const Timeline::Transfer &t : timeline.transfers) {
      const Message &message = schedule.messages[t.message];
      const Stage &stage =
          problem.communications[message.pieces.front().communication].stages[t.stage];
      EXPECT_LE(t.ready, t.begin);
      EXPECT_GE(t.begin, free[stage.link]);
      free[stage.link] = t.sent;
      // Shares of updates are rounded up.
      Time update = 0;
      for (const Piece &piece : message.pieces) {
        const Communication &own = problem.communications[piece.communication];
        update += (own.stages[t.stage].update * (piece.end - piece.begin) + own.bytes - 1) /
                  own.bytes;
      }
      if (t.isLast)
        EXPECT_EQ(t.arrived, t.sent + stage.latency + update);
      overtaken += !t.isLast && t.begin < t.sent;
    }
    for (const Timeline::Stall &stall : timeline.stalls) {
      checkStretches(problem, schedule, timeline, stall);
      ++stalls;
    }
  }
  EXPECT_GT(stalls, 2 * cases.count());
  EXPECT_GT(overtaken, cases.count() / 8);
}

// One byte may be on the way. Of the two tensors of the first message only the second one has an update behind the link.
TEST(TimelineTest, CreditIsFreeWhenAMessageIsSentWhicheverOfItsTensorsHasAnUpdate) {
  Problem problem;
  problem.links = {{"link", 1'000'000'000, /*creditUntilSent=*/true}};
  problem.ops = {{.name = "op", .duration = 1}};
  for (Time update : {0, 10, 0})
    problem.communications.push_back({.bytes = 2, .producers = {0}, .stages = {{.link = 0, .bytes = 2, .update = update}}});
  Schedule schedule;
  schedule.order = {{0}};
  schedule.credit = {1};
  schedule.messages = {{{{0, 0, 2}, {1, 0, 2}}, {0}}, {{{2, 0, 2}}, {1}}};
  ASSERT_FALSE(verify(problem, schedule));
  Timeline timeline = traceSchedule(problem, schedule);
  ASSERT_GE(timeline.transfers.size(), 2u);
  EXPECT_EQ(timeline.transfers[0].sent, 5);
  EXPECT_EQ(timeline.transfers[1].begin, 5);
}

} // namespace
} // namespace commsched::schedule
