// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces that arrive before their messages: against a simulation nanosecond by nanosecond,
// which shares nothing with the evaluator, and against the bound.

#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Order.h"
#include "passes/schedule/solver/Solve.h"
#include "passes/schedule/solver/Timeline.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace commsched::schedule {
namespace {

constexpr double kRounding = 1e-9;
/// Steps that may be on their way when one ends.
constexpr size_t kBehind = 3;

/// By its definition: how much of the message there is up to the end of each piece.
std::vector<double> arrivedParts(const Message &message) {
  double bytes = 0, at = 0;
  for (const Piece &piece : message.pieces)
    bytes += static_cast<double>(piece.end - piece.begin);
  std::vector<double> parts;
  for (const Piece &piece : message.pieces)
    parts.push_back((at += static_cast<double>(piece.end - piece.begin)) / bytes);
  return parts;
}

/// Runs some steps, with links that are given one message at a time or all that are ready.
class SlotBySlot {
public:
  SlotBySlot(const Problem &problem, const Schedule &schedule, size_t steps)
      : problem(problem), schedule(schedule), steps(steps) {}

  /// By step: when all ops are done. Empty if that takes too long.
  std::vector<Time> run() {
    std::vector<Time> ends(steps, -1);
    std::vector<size_t> place(problem.streams), own(problem.streams);
    std::vector<Time> busy(problem.streams, 0);
    for (Time now = 0; now < 20000; ++now) {
      land(now);
      for (bool any = true; any;) {
        any = false;
        for (unsigned s = 0; s < problem.streams; ++s) {
          const std::vector<unsigned> &order = schedule.order[s];
          while (own[s] < steps && !order.empty() && busy[s] <= now &&
                 mayStart(own[s], order[place[s]], place[s] == 0, now)) {
            unsigned op = order[place[s]];
            busy[s] = opEnds[{own[s], op}] = now + problem.ops[op].duration;
            if (++place[s] == order.size())
              place[s] = 0, ++own[s];
            any = true;
          }
        }
        any |= give(now);
      }
      bool all = true;
      for (size_t step = 0; step < steps; ++step) {
        Time last = 0;
        for (unsigned op = 0; op < problem.ops.size(); ++op) {
          auto it = opEnds.find({step, op});
          last = it == opEnds.end() ? -1 : std::max(last, it->second);
          if (last < 0)
            break;
        }
        ends[step] = last;
        all &= last >= 0 && last <= now;
      }
      if (all)
        return ends;
    }
    return {};
  }

private:
  struct Sent {
    size_t step;
    unsigned message, stage;
    Time complete;
    bool landed = false;
  };

  bool isDone(size_t step, unsigned op, Time now) const {
    auto it = opEnds.find({step, op});
    return it != opEnds.end() && it->second <= now;
  }
  bool hasArrived(size_t step, unsigned communication, Time now) const {
    int64_t bytes = 0;
    for (const auto &[at, piece] : pieces)
      if (piece.first == step && piece.second.communication == communication && at <= now)
        bytes += piece.second.end - piece.second.begin;
    return bytes == problem.communications[communication].bytes;
  }
  bool isComplete(size_t step, Time now) const {
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      if (!isDone(step, op, now))
        return false;
    for (unsigned c = 0; c < problem.communications.size(); ++c)
      if (!hasArrived(step, c, now))
        return false;
    return true;
  }
  bool mayStart(size_t step, unsigned op, bool first, Time now) const {
    if (first && step >= 2 && !isComplete(step - 2, now))
      return false;
    for (unsigned before : problem.ops[op].after)
      if (!isDone(step, before, now))
        return false;
    for (unsigned c = 0; c < problem.communications.size(); ++c)
      for (const Consumer &consumer : problem.communications[c].consumers)
        if (consumer.op == op && step >= consumer.distance &&
            !hasArrived(step - consumer.distance, c, now))
          return false;
    return true;
  }
  const std::vector<Stage> &stagesOf(unsigned message) const {
    return problem.communications[schedule.messages[message].pieces[0].communication].stages;
  }
  int64_t bytesOf(unsigned message) const {
    int64_t bytes = 0;
    for (const Piece &piece : schedule.messages[message].pieces)
      bytes += piece.end - piece.begin;
    return bytes;
  }

  void land(Time now) {
    for (Sent &sent : given)
      if (sent.complete <= now)
        sent.landed = true;
  }

  /// What is ready goes to its link, the most urgent first.
  bool give(Time now) {
    bool any = false;
    for (unsigned link = 0; link < problem.links.size(); ++link)
      for (;;) {
        bool holds = false;
        for (const Sent &sent : given)
          holds |= !sent.landed && stagesOf(sent.message)[sent.stage].link == link;
        if (holds && schedule.credit[link] != kNoLimit)
          break;
        std::set<std::tuple<int64_t, size_t, unsigned, unsigned>> ready;
        for (size_t step = 0; step < steps; ++step)
          for (unsigned m = 0; m < schedule.messages.size(); ++m)
            for (unsigned stage = 0; stage < stagesOf(m).size(); ++stage)
              if (stagesOf(m)[stage].link == link && isReady(step, m, stage, now))
                ready.insert({schedule.messages[m].priorities[stage], step, m, stage});
        if (ready.empty())
          break;
        auto [priority, step, m, stage] = *ready.begin();
        send(step, m, stage, link, now);
        any = true;
      }
    return any;
  }
  bool isReady(size_t step, unsigned m, unsigned stage, Time now) const {
    bool before = stage == 0;
    for (const Sent &sent : given)
      if (sent.step == step && sent.message == m) {
        if (sent.stage == stage)
          return false;
        before |= sent.stage + 1 == stage && sent.landed;
      }
    if (stage > 0)
      return before;
    for (const Piece &piece : schedule.messages[m].pieces)
      for (unsigned producer : problem.communications[piece.communication].producers)
        if (!isDone(step, producer, now))
          return false;
    return true;
  }
  void send(size_t step, unsigned m, unsigned index, unsigned link, Time now) {
    const Stage &stage = stagesOf(m)[index];
    Time begin = std::max(now, free[link]);
    // A byte takes a nanosecond.
    free[link] = begin + stage.overhead + bytesOf(m);
    Time complete = free[link] + stage.latency;
    given.push_back({step, m, index, complete});
    if (index + 1 < stagesOf(m).size())
      return;
    const Message &message = schedule.messages[m];
    std::vector<double> parts = arrivedParts(message);
    int64_t last = 0;
    for (const Piece &piece : message.pieces)
      last += tailOf(piece);
    for (size_t i = 0; i < message.pieces.size(); ++i) {
      auto lead = message.pieces.size() < 2
                      ? 0
                      : static_cast<Time>(static_cast<double>(last) * (1 - parts[i]) + 1e-6);
      pieces.push_back({complete - lead, {step, message.pieces[i]}});
    }
  }
  /// Of the whole tail what lies in front of the piece's end, but not of its beginning.
  int64_t tailOf(const Piece &piece) const {
    const Communication &own = problem.communications[piece.communication];
    return own.tail * piece.end / own.bytes - own.tail * piece.begin / own.bytes;
  }

  const Problem &problem;
  const Schedule &schedule;
  size_t steps;
  std::map<std::pair<size_t, unsigned>, Time> opEnds;
  std::vector<std::pair<Time, std::pair<size_t, Piece>>> pieces;
  std::vector<Sent> given;
  std::map<unsigned, Time> free;
};

RandomOptions optionsOf(uint64_t seed) {
  RandomOptions options;
  options.streams = 1 + seed % 2;
  options.links = 1 + seed / 2 % 2;
  options.maxLatency = seed / 4 % 3;
  options.maxOverhead = seed / 8 % 3;
  options.maxBytes = 9;
  options.tails = true;
  return options;
}

TEST(ArrivalsTest, PiecesArriveOneAfterTheOther) {
  Cases cases = casesOf(3000);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    Problem problem = layers(1, 1, std::vector<int64_t>(1 + random() % 6, 1));
    Message message;
    int64_t tail = 0;
    for (unsigned i = 0; i < problem.communications.size(); ++i) {
      Communication &own = problem.communications[i];
      own.bytes = own.stages.back().bytes = static_cast<int64_t>(1 + random() % 5000);
      own.tail = static_cast<int64_t>(1 + random() % own.bytes);
      tail += own.tail;
      message.pieces.push_back({i, 0, own.bytes});
    }
    ASSERT_EQ(check(problem), std::nullopt);
    std::vector<Time> leads = leadsOf(problem, message);
    std::vector<double> parts = arrivedParts(message);
    ASSERT_EQ(leads.size(), parts.size());
    EXPECT_EQ(leads.back(), 0);
    for (size_t i = 0; i < leads.size() && leads.size() > 1; ++i) {
      double lead = static_cast<double>(tail) * (1 - parts[i]);
      EXPECT_LE(static_cast<double>(leads[i]), lead + 1e-6) << "seed " << seed;
      EXPECT_GT(static_cast<double>(leads[i]), lead - 1 - 1e-6) << "seed " << seed;
    }
  }
}

TEST(ArrivalsTest, EvaluatesAsNanosecondByNanosecond) {
  Cases cases = casesOf(400);
  unsigned early = 0;
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Problem problem = randomProblem(seed, optionsOf(seed));
    ASSERT_EQ(check(problem), std::nullopt);
    Schedule schedule = randomSchedule(problem, seed, 1 + static_cast<int64_t>(seed % 9));
    for (int64_t &credit : schedule.credit)
      credit = seed % 3 ? kNoLimit : 0;
    schedule.barrier = false;
    if (verify(problem, schedule))
      continue;
    Timeline timeline = traceSchedule(problem, schedule, 3, 16);
    if (timeline.steps.empty())
      continue;
    size_t from = timeline.firstStep - 1;
    std::vector<Time> ends =
        SlotBySlot(problem, schedule, from + timeline.steps.size() + kBehind).run();
    ASSERT_FALSE(ends.empty());
    for (size_t i = 0; i < timeline.steps.size(); ++i)
      ASSERT_EQ(timeline.steps[i], ends[from + i]) << "step " << from + i;
    Problem without = problem;
    for (Communication &communication : without.communications)
      communication.tail = 0;
    early += evaluate(problem, schedule).period < evaluate(without, schedule).period;
  }
  EXPECT_GT(early, cases.count() < 400 ? 0 : cases.count() / 40); // it matters
}

TEST(ArrivalsTest, NoScheduleIsBelowTheBound) {
  Cases cases = casesOf(2000);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomProblem(seed, optionsOf(seed));
    Schedule schedule = randomSchedule(problem, seed, 1 + static_cast<int64_t>(seed % 9));
    arrangePieces(problem, schedule);
    if (verify(problem, schedule))
      continue;
    Evaluation evaluation = evaluate(problem, schedule);
    if (!evaluation.settled)
      continue;
    EXPECT_LE(boundOfOrder(problem, schedule.order).period, evaluation.period + kRounding)
        << "seed " << seed;
  }
}

TEST(ArrivalsTest, WhatIsNeededFirstIsInFront) {
  Cases cases = casesOf(1000);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Problem problem = randomProblem(seed, optionsOf(seed));
    Schedule schedule = randomSchedule(problem, seed, 1 + static_cast<int64_t>(seed % 9));
    Schedule arranged = schedule;
    arrangePieces(problem, arranged);
    EXPECT_EQ(verify(problem, schedule), verify(problem, arranged));
    View view(problem, schedule.order);
    for (size_t m = 0; m < schedule.messages.size(); ++m) {
      const std::vector<Piece> &before = schedule.messages[m].pieces;
      const std::vector<Piece> &after = arranged.messages[m].pieces;
      ASSERT_EQ(before.size(), after.size());
      int64_t need = INT64_MIN;
      for (size_t i = 0; i < after.size(); ++i) {
        const Communication &own = problem.communications[after[i].communication];
        EXPECT_TRUE(std::find(before.begin(), before.end(), after[i]) != before.end());
        if (own.tail == 0 || after[i].end - after[i].begin < own.bytes) {
          EXPECT_EQ(before[i], after[i]); // its neighbours stay
          continue;
        }
        EXPECT_LE(need, view.needed[after[i].communication]);
        need = view.needed[after[i].communication];
      }
    }
  }
}

// Three tensors of a slot each in a message: the first two come a slot and two before its
// end, and their ops run meanwhile.
TEST(ArrivalsTest, OpsRunWhileTheRestIsOnItsWay) {
  Problem problem = layers(1, 1, {1, 1, 1});
  for (Communication &communication : problem.communications)
    communication.tail = 1;
  Schedule schedule;
  schedule.order = programOrder(problem);
  schedule.messages = {{{{2, 0, 1}, {1, 0, 1}, {0, 0, 1}}, {0}}};
  schedule.credit = {kNoLimit};
  Schedule arranged = schedule;
  arrangePieces(problem, arranged);
  EXPECT_EQ(arranged.messages[0].pieces.front(), (Piece{0, 0, 1}));
  EXPECT_EQ(leadsOf(problem, arranged.messages[0]), (std::vector<Time>{2, 1, 0}));
  EXPECT_EQ(evaluate(problem, arranged).period, 6 + 3 - 2);
  EXPECT_EQ(evaluate(problem, schedule).period, 6 + 3);
}

TEST(ArrivalsTest, TailsAreChecked) {
  Problem problem = layers(1, 1, {2, 2});
  problem.communications[1].tail = 3;
  EXPECT_EQ(check(problem).value_or(""),
            "communication 1 ('layer1'): tail must be 0 to 2 bytes, those of the last stage, "
            "got: 3");
  problem.communications[1].tail = 2;
  EXPECT_NE(check(problem), std::nullopt); // of one kind with a tensor without
  problem.communications[0].tail = 1;
  EXPECT_EQ(check(problem), std::nullopt);
}

} // namespace
} // namespace commsched::schedule
