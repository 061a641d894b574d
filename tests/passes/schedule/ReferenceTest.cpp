// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator beside a simulation that goes from nanosecond to nanosecond and looks
// everything up anew: slow, but it shares nothing with the evaluator but leadsOf(), which
// ArrivalsTest.cpp tests.

#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Schedule.h"
#include "tests/cases.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace commsched::schedule {
namespace {

/// Of ops and messages that take a nanosecond or more.
class Reference {
public:
  Reference(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule) {}

  /// When all ops of each of the first `steps` steps are done.
  std::vector<Time> run(unsigned steps) {
    std::vector<Time> ends;
    for (Time now = 0; ends.size() < steps && now < 200'000; ++now) {
      startOps(now);
      release(now);
      for (unsigned link = 0; link < problem.links.size(); ++link)
        give(link, now);
      // What ends in the next nanosecond is seen then.
      auto step = static_cast<unsigned>(ends.size());
      bool done = true;
      for (unsigned op = 0; op < problem.ops.size(); ++op)
        done &= opDone(step, op, now);
      if (done) {
        ends.push_back(now);
        --now; // several steps may end at once
      }
    }
    return ends;
  }

private:
  /// Priority, step, bytes before it on its connection, message, stage.
  using Key = std::tuple<int64_t, unsigned, int64_t, unsigned, unsigned>;
  struct Given {
    int64_t bytes;
    Time sent, complete, free; ///< free: the credit
    std::vector<Time> pieces;  ///< when they arrive
  };

  bool opDone(unsigned step, unsigned op, Time now) const {
    auto end = opEnds.find({step, op});
    return end != opEnds.end() && end->second <= now;
  }
  bool arrived(unsigned step, unsigned communication, Time now) const {
    auto stages = static_cast<unsigned>(problem.communications[communication].stages.size());
    for (unsigned m = 0; m < schedule.messages.size(); ++m)
      for (size_t i = 0; i < schedule.messages[m].pieces.size(); ++i) {
        if (schedule.messages[m].pieces[i].communication != communication)
          continue;
        auto given = messages.find({step, m, stages - 1});
        if (given == messages.end() || given->second.pieces[i] > now)
          return false;
      }
    return true;
  }
  bool complete(unsigned step, unsigned message, unsigned stage, Time now) const {
    auto given = messages.find({step, message, stage});
    return given != messages.end() && given->second.complete <= now;
  }
  bool stepComplete(unsigned step, Time now) const {
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      if (!opDone(step, op, now))
        return false;
    return allArrived(step, now);
  }
  bool allArrived(unsigned step, Time now) const {
    for (unsigned c = 0; c < problem.communications.size(); ++c)
      if (!arrived(step, c, now))
        return false;
    return true;
  }

  unsigned connectionOf(unsigned message) const {
    return problem.communications[schedule.messages[message].pieces.front().communication].connection;
  }
  /// Of messages as urgent there, in front of it on its connection, if there is another one.
  int64_t bytesBefore(unsigned message, unsigned stage) const {
    std::set<unsigned> all;
    for (const Communication &communication : problem.communications)
      all.insert(communication.connection);
    all.erase(0);
    int64_t sum = 0;
    if (all.size() < 2 || !connectionOf(message))
      return 0;
    for (unsigned m = 0; m <= message; ++m)
      for (unsigned s = 0; s < (m < message ? stagesOf(m).size() : stage); ++s)
        if (connectionOf(m) == connectionOf(message) && stagesOf(m)[s].link == stagesOf(message)[stage].link &&
            schedule.messages[m].priorities[s] == schedule.messages[message].priorities[stage])
          for (const Piece &piece : schedule.messages[m].pieces)
            sum += piece.end - piece.begin;
    return sum;
  }
  Key keyOf(unsigned step, unsigned message, unsigned stage) const {
    return {schedule.messages[message].priorities[stage], step, bytesBefore(message, stage), message, stage};
  }

  void startOps(Time now) {
    for (unsigned stream = 0; stream < problem.streams; ++stream) {
      const std::vector<unsigned> &order = schedule.order[stream];
      if (order.empty())
        continue;
      unsigned number = started[stream]; // of the op, over all steps
      auto count = static_cast<unsigned>(order.size());
      unsigned step = number / count, op = order[number % count];
      if (number) {
        unsigned last = number - 1;
        if (!opDone(last / count, order[last % count], now))
          continue;
      }
      if (number % count == 0) {
        if (step >= 2 && !stepComplete(step - 2, now))
          continue;
        if (schedule.barrier && step >= 1 && !allArrived(step - 1, now))
          continue;
      }
      bool ready = true;
      for (unsigned before : problem.ops[op].after)
        ready &= opDone(step, before, now);
      for (unsigned c = 0; c < problem.communications.size(); ++c)
        for (const Consumer &consumer : problem.communications[c].consumers)
          if (consumer.op == op && consumer.distance <= step)
            ready &= arrived(step - consumer.distance, c, now);
      if (!ready)
        continue;
      opEnds[{step, op}] = now + problem.ops[op].duration;
      ++started[stream];
    }
  }

  /// Messages of which everything is there that they wait for.
  void release(Time now) {
    unsigned steps = 0;
    for (const auto &[stream, number] : started)
      steps = std::max<unsigned>(steps, number / schedule.order[stream].size() + 1);
    for (unsigned step = steps > 4 ? steps - 4 : 0; step < steps; ++step)
      for (unsigned m = 0; m < schedule.messages.size(); ++m) {
        const Message &message = schedule.messages[m];
        for (unsigned stage = 0; stage < message.priorities.size(); ++stage) {
          bool ready = stage == 0 || complete(step, m, stage - 1, now);
          if (stage == 0)
            for (const Piece &piece : message.pieces)
              for (unsigned producer : problem.communications[piece.communication].producers)
                ready &= opDone(step, producer, now);
          if (!ready || !seen.insert({step, m, stage}).second)
            continue;
          queues[stagesOf(m)[stage].link].insert(keyOf(step, m, stage));
        }
      }
  }

  void give(unsigned link, Time now) {
    std::set<Key> &queue = queues[link];
    while (!queue.empty()) {
      auto [priority, step, before, m, index] = *queue.begin();
      const Message &message = schedule.messages[m];
      const Stage &stage = stagesOf(m)[index];
      Given given{0, 0, 0, 0};
      Time update = 0;
      for (const Piece &piece : message.pieces) {
        const Communication &communication = problem.communications[piece.communication];
        const Stage &own = communication.stages[index];
        given.bytes += own.bytes * piece.end / communication.bytes -
                       own.bytes * piece.begin / communication.bytes;
        // The least that is not below its share.
        Time share = 0;
        while (share * communication.bytes < own.update * (piece.end - piece.begin))
          ++share;
        update += share;
      }
      int64_t onTheWay = 0;
      unsigned count = 0;
      Time free = now;
      for (const auto &[key, other] : messages)
        if (stagesOf(std::get<1>(key))[std::get<2>(key)].link == link) {
          free = std::max(free, other.sent);
          if (other.free > now) {
            onTheWay += other.bytes;
            ++count;
          }
        }
      if (count && given.bytes > schedule.credit[link] - onTheWay)
        return;
      queue.erase(queue.begin());
      int64_t perByte = 1'000'000'000 / problem.links[link].bytesPerSecond;
      Time work = stage.overhead + given.bytes * perByte;
      given.sent = free + work;
      given.complete = given.sent + stage.latency + update;
      given.free = freesEarly(link) ? given.sent : given.complete;
      for (size_t i = 0; i < message.pieces.size(); ++i)
        given.pieces.push_back(given.complete - leadOf(m, index, i));
      messages[{step, m, index}] = given;
    }
  }

  bool freesEarly(unsigned link) const {
    return problem.links[link].creditUntilSent && schedule.credit[link] != kNoLimit;
  }
  Time leadOf(unsigned message, unsigned stage, size_t piece) const {
    return stage + 1 == stagesOf(message).size()
               ? leadsOf(problem, schedule.messages[message])[piece]
               : 0;
  }

  const std::vector<Stage> &stagesOf(unsigned message) const {
    return problem.communications[schedule.messages[message].pieces.front().communication].stages;
  }

  const Problem &problem;
  const Schedule &schedule;
  std::map<unsigned, unsigned> started; ///< ops, by stream
  std::map<std::pair<unsigned, unsigned>, Time> opEnds;
  std::set<std::tuple<unsigned, unsigned, unsigned>> seen; ///< step, message, stage
  std::map<std::tuple<unsigned, unsigned, unsigned>, Given> messages;
  std::map<unsigned, std::set<Key>> queues;
};

/// `tails`: pieces may come before their messages. `connections`: there may be several, and few priorities.
void compareWithReference(bool tails, bool connections = false) {
  constexpr size_t kSteps = 60;
  unsigned compared = 0, otherwise = 0;
  Cases cases = casesOf(300);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    Problem problem = randomProblem(seed, {.streams = 1 + unsigned(seed % 2),
                                           .links = 1 + unsigned(seed / 2 % 2),
                                           .maxLatency = 3,
                                           .maxOverhead = 2,
                                           .maxUpdate = seed % 3 ? 7 : 0,
                                           .maxBytes = 6,
                                           .maxCommunications = seed % 2 ? 9u : 4u,
                                           .maxOps = 5,
                                           .connections = connections});
    for (Link &link : problem.links)
      link.creditUntilSent = seed % 5 == 0;
    if (tails && seed % 2)
      for (Communication &own : problem.communications)
        own.tail = (own.stages.back().bytes + 1) / 2;
    Schedule schedule = randomSchedule(problem, seed, 1 + seed % 4);
    schedule.barrier = seed % 7 == 0;
    if (tails && seed % 3)
      schedule.credit.assign(problem.links.size(), kNoLimit);
    if (connections)
      for (Message &message : schedule.messages)
        for (int64_t &priority : message.priorities)
          priority %= 2;
    if (verify(problem, schedule))
      continue;
    Evaluation evaluation = evaluate(problem, schedule);
    if (!evaluation.settled)
      continue;
    if (connections) {
      Problem without = problem;
      for (Communication &own : without.communications)
        own.connection = 0;
      Evaluation other = evaluate(without, schedule);
      otherwise += other.period != evaluation.period || other.firstStep != evaluation.firstStep ||
                   other.exposed != evaluation.exposed;
    }
    std::vector<Time> ends = Reference(problem, schedule).run(kSteps);
    ASSERT_EQ(ends.size(), kSteps) << seed;
    EXPECT_EQ(ends.front(), evaluation.firstStep) << seed;
    // After how many steps the times between ends come again, in the later half.
    bool found = false;
    for (size_t cycle = 1; cycle <= kSteps / 4 && !found; ++cycle) {
      bool repeats = true;
      for (size_t i = kSteps / 2; i + cycle + 1 < kSteps; ++i)
        repeats &= ends[i + 1] - ends[i] == ends[i + cycle + 1] - ends[i + cycle];
      if (!repeats)
        continue;
      found = true;
      EXPECT_DOUBLE_EQ(static_cast<double>(ends[kSteps - 1] - ends[kSteps - 1 - cycle]) /
                           static_cast<double>(cycle),
                       evaluation.period)
          << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, cases.count() / 2);
  if (connections && cases.count() >= 100)
    EXPECT_GE(otherwise, cases.count() / 50);
}

TEST(ReferenceTest, TheEvaluatorFindsTheSamePeriod) { compareWithReference(false); }

TEST(ReferenceTest, PiecesComeBeforeTheirMessages) { compareWithReference(true); }

TEST(ReferenceTest, WhatIsAsUrgentGoesAtOnePaceOfConnections) {
  compareWithReference(false, true);
  compareWithReference(true, true);
}

} // namespace
} // namespace commsched::schedule
