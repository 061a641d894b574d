// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What exclusive exchanges have the transport hold back, and for how long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plan/urgency.h"
#include "runtime/base/sync.h"
#include "runtime/execute/progress_engine.h"
#include "tests/cases.h"
#include "tests/runtime/idle_transport.h"

namespace commsched::runtime::exclusive {
namespace {

using plan::Urgency;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Least = std::optional<Urgency>;

constexpr Time kHour = Time{3600} * 1'000'000'000;
constexpr size_t kBytes = 1000;

// What the engine asks for, in order; messages come and go when the test says so.
struct Asked {
  enum Kind {
    kHold,
    kSend,
    kReceive
  } kind;
  Least least = {};
  MessageTag tag = {};
  Clock::time_point at = Clock::now();
};

class LoggedTransport final : public IdleTransport {
 public:
  explicit LoggedTransport(bool polls) : IdleTransport(2), polls_(polls) {}
  bool polls() const override { return polls_; }

  void Hold(const Least &least) override { Add({Asked::kHold, least}, nullptr); }
  void Send(int, MessageTag tag, int32_t, absl::Span<const std::byte>, Done done) override {
    Add({Asked::kSend, {}, tag}, std::move(done));
  }
  void Recv(int, MessageTag tag, absl::Span<std::byte>, Done done) override {
    Add({Asked::kReceive, {}, tag}, std::move(done));
  }

  // Waits until that holds; false if it does not for a long time.
  bool Await(const std::function<bool(const std::vector<Asked> &)> &holds) {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    MutexLock lock(&mu_);
    while (!holds(log_))
      if (changed_.WaitUntil(&mu_, deadline)) return holds(log_);
    return true;
  }
  // Waits for the operation, and ends it.
  void End(Asked::Kind kind, const MessageTag &tag, const absl::Status &status = absl::OkStatus()) {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    Done done;
    {
      MutexLock lock(&mu_);
      Done *found = nullptr;
      while (!*(found = &waiting_[{kind, tag}]))
        if (changed_.WaitUntil(&mu_, deadline)) break;
      done = std::move(*found);
      *found = nullptr;
    }
    ASSERT_TRUE(done) << "is not asked for: " << kind << " of " << tag.key << ", phase " << tag.phase << ", round " << tag.round;
    done(status);
  }
  std::vector<Asked> log() {
    MutexLock lock(&mu_);
    return log_;
  }
  std::vector<Least> holds() {
    std::vector<Least> holds;
    for (const Asked &asked : log())
      if (asked.kind == Asked::kHold) holds.push_back(asked.least);
    return holds;
  }

 private:
  void Add(Asked asked, Done done) {
    MutexLock lock(&mu_);
    if (done) waiting_[{asked.kind, asked.tag}] = std::move(done);
    log_.push_back(std::move(asked));
    changed_.SignalAll();
  }
  const bool polls_;
  Mutex mu_;
  CondVar changed_;
  std::vector<Asked> log_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<Asked::Kind, MessageTag>, Done> waiting_ ABSL_GUARDED_BY(mu_);
};

class EndingHost final : public ProgressEngine::Host {
 public:
  void CommunicationDone(void *, uint32_t) override { Add(absl::OkStatus()); }
  void CommunicationFailed(const absl::Status &why) override { Add(why); }
  bool Computing() const override { return true; }
  // Waits for so many ends; returns the last one.
  absl::Status Await(size_t count) {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    MutexLock lock(&mu_);
    while (ends_.size() < count)
      if (changed_.WaitUntil(&mu_, deadline)) return absl::DeadlineExceededError("the test has waited long enough");
    return ends_.back();
  }

 private:
  void Add(const absl::Status &status) {
    MutexLock lock(&mu_);
    ends_.push_back(status);
    changed_.SignalAll();
  }
  Mutex mu_;
  CondVar changed_;
  std::vector<absl::Status> ends_ ABSL_GUARDED_BY(mu_);
};

// An exchange with peer 1.
struct Exchange {
  std::vector<int32_t> priorities;  // of its phases
  uint64_t call = 0;
  Time patience = 0;  // 0: it is not exclusive
  uint32_t rounds = 1, slices = 1;
  uint32_t key = 0;  // its number

  MessageTag Tag(uint32_t phase, uint32_t round, uint32_t slice = 0) const {
    return {call, key, phase, round * slices + slice};
  }
};

// With a transport that wakes the engine, and with one that it asks.
class ProgressExclusiveTest : public ::testing::TestWithParam<bool> {
 protected:
  void Start(Exchange &exchange) {
    InstructionProgram &instruction = instructions_.emplace_back();
    exchange.key = uint32_t(instructions_.size() - 1);
    instruction.kind = InstructionProgram::kCommunicate;
    CommunicateProgram &c = instruction.communicate;
    c.key_id = exchange.key;
    c.exclusive = exchange.patience;
    c.slices = exchange.slices;
    Round round;
    round.send_peer = round.recv_peer = 1;
    round.send_bytes = round.recv_bytes = round.recv_begin = kBytes;
    for (int32_t priority : exchange.priorities) {
      PhaseProgram phase;
      phase.priority = priority;
      phase.rounds.assign(exchange.rounds, round);
      c.phases.push_back(phase);
    }
    ProgressEngine::Request request;
    request.instruction = &instruction;
    request.call = exchange.call;
    request.buffer = memory_.data();
    engine_.Start(request);
  }
  // Ends what is asked for in one round.
  void EndRound(const Exchange &exchange, uint32_t phase, uint32_t round, uint32_t slice = 0) {
    for (const Asked::Kind kind : {Asked::kReceive, Asked::kSend})
      transport_.End(kind, exchange.Tag(phase, round, slice));
  }
  // Of all rounds, but for the first one's first slice if that is said.
  void EndAll(const Exchange &exchange, bool but_first = false) {
    for (uint32_t phase = 0; phase < exchange.priorities.size(); ++phase)
      for (uint32_t round = 0; round < exchange.rounds; ++round)
        for (uint32_t slice = 0; slice < exchange.slices; ++slice)
          if (!but_first || phase + round + slice > 0) EndRound(exchange, phase, round, slice);
  }
  // Waits until so many holds have been asked for, the last of them of this.
  bool AwaitHold(size_t count, const Least &least) {
    return transport_.Await([&](const std::vector<Asked> &log) {
      std::vector<Least> holds;
      for (const Asked &asked : log)
        if (asked.kind == Asked::kHold) holds.push_back(asked.least);
      return holds.size() >= count && holds.back() == least;
    });
  }
  // Waits until all that was started before has begun.
  void AwaitBegun() {
    Exchange last{.priorities = {100}};
    Start(last);
    EndAll(last);
    ++others_;
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(2 * kBytes);
  std::deque<InstructionProgram> instructions_;  // outlive the engine
  LoggedTransport transport_{GetParam()};
  EndingHost host_;
  ProgressEngine engine_{0, &transport_, nullptr, nullptr, &host_, nullptr, absl::Hours(1)};
  size_t others_ = 0;  // exchanges of AwaitBegun
};

INSTANTIATE_TEST_SUITE_P(Transports, ProgressExclusiveTest, ::testing::Bool(),
                         [](const auto &info) { return std::string(info.param ? "Asked" : "Waking"); });

TEST_P(ProgressExclusiveTest, HoldsBackFromBeforeItSendsUntilItIsDone) {
  Exchange exchange{.priorities = {0, 5, -1}, .call = 7, .patience = kHour, .rounds = 2, .slices = 3};
  Start(exchange);
  EndAll(exchange);
  EXPECT_TRUE(host_.Await(1).ok()) << host_.Await(1);
  // The least urgent of its phases counts.
  EXPECT_THAT(transport_.holds(), ElementsAre(Urgency{5, 7}, std::nullopt));
  const std::vector<Asked> log = transport_.log();
  EXPECT_EQ(log.front().kind, Asked::kHold);
  EXPECT_EQ(log.back().kind, Asked::kHold);
  EXPECT_EQ(log.size(), 2u + 2 * 3 * 2 * 3);
}

TEST_P(ProgressExclusiveTest, WhatIsNotExclusiveOrHasNoRoundsHoldsNothingBack) {
  Exchange plain{.priorities = {0, 5}}, empty{.priorities = {3, 4}, .patience = kHour, .rounds = 0};
  Start(plain);
  Start(empty);
  EndAll(plain);
  EXPECT_TRUE(host_.Await(2).ok());
  EXPECT_THAT(transport_.holds(), ElementsAre());
  // What has no messages leaves alone what others hold back.
  Exchange exclusive{.priorities = {1}, .patience = kHour}, other = empty;
  Start(exclusive);
  Start(other);
  EXPECT_TRUE(host_.Await(3).ok());
  EXPECT_THAT(transport_.holds(), ElementsAre(Urgency{1, 0}));
  EndAll(exclusive);
  EXPECT_TRUE(host_.Await(4).ok());
  EXPECT_THAT(transport_.holds(), ElementsAre(Urgency{1, 0}, std::nullopt));
}

// Of one slice the messages have all come: the others go on.
TEST_P(ProgressExclusiveTest, EndsWithItsLastSlice) {
  Exchange exchange{.priorities = {2}, .call = 1, .patience = kHour, .slices = 2};
  Start(exchange);
  EndRound(exchange, 0, 0, 1);
  AwaitBegun();
  EXPECT_TRUE(host_.Await(1).ok());
  EXPECT_THAT(transport_.holds(), ElementsAre(Urgency{2, 1}));
  EndRound(exchange, 0, 0, 0);
  EXPECT_TRUE(host_.Await(2).ok());
  EXPECT_THAT(transport_.holds(), ElementsAre(Urgency{2, 1}, std::nullopt));
}

TEST_P(ProgressExclusiveTest, WaitsForItsMessagesNoLongerThanThePatience) {
  constexpr Time kPatience = 30'000'000;
  Exchange exchange{.priorities = {3}, .call = 2, .patience = kPatience, .rounds = 3};
  const Urgency own{3, 2};
  const auto begin = Clock::now();
  Start(exchange);
  ASSERT_TRUE(AwaitHold(2, std::nullopt)) << "nothing comes";
  EXPECT_GE(Clock::now() - begin, FromTime(kPatience) - FromTime(0));
  EXPECT_THAT(transport_.holds(), ElementsAre(own, std::nullopt));
  // One comes: the next one is waited for again. That this rank has sent its own is nothing that comes.
  transport_.End(Asked::kSend, exchange.Tag(0, 0));
  AwaitBegun();
  EXPECT_THAT(transport_.holds(), ElementsAre(own, std::nullopt));
  const auto again = Clock::now();
  transport_.End(Asked::kReceive, exchange.Tag(0, 0));
  ASSERT_TRUE(AwaitHold(4, std::nullopt));
  EXPECT_GE(Clock::now() - again, FromTime(kPatience) - FromTime(0));
  EXPECT_THAT(transport_.holds(), ElementsAre(own, std::nullopt, own, std::nullopt));
  EndRound(exchange, 0, 1);
  EndRound(exchange, 0, 2);
  EXPECT_TRUE(host_.Await(1 + others_).ok());
  EXPECT_EQ(transport_.holds().back(), std::nullopt);
}

TEST_P(ProgressExclusiveTest, EachMessageThatComesIsWaitedForAsLong) {
  constexpr Time kPatience = 200'000'000;
  Exchange exchange{.priorities = {3}, .patience = kPatience, .rounds = 12};
  std::vector<Clock::time_point> before = {Clock::now()};  // each round was waited for
  Start(exchange);
  for (uint32_t round = 0; round + 1 < exchange.rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    before.push_back(Clock::now());
    EndRound(exchange, 0, round);
  }
  ASSERT_TRUE(AwaitHold(2, std::nullopt));
  // However late this test was: what was held back went not before that.
  uint32_t round = 0;
  for (const Asked &asked : transport_.log()) {
    if (asked.kind == Asked::kReceive) round = asked.tag.round;
    if (asked.kind == Asked::kHold && !asked.least)
      EXPECT_GE(asked.at - before[round], FromTime(kPatience) - FromTime(0)) << round;
  }
  EndRound(exchange, 0, exchange.rounds - 1);
  EXPECT_TRUE(host_.Await(1).ok());
}

TEST_P(ProgressExclusiveTest, OfTwoTheLeastUrgentCounts) {
  // Of one priority, the later call is less urgent.
  const std::vector<std::pair<Urgency, Urgency>> pairs = {{{0, 3}, {4, 1}}, {{4, 1}, {0, 3}}, {{2, 5}, {2, 6}}, {{2, 6}, {2, 5}}};
  std::vector<Least> expected;
  size_t ends = 0;
  for (const auto &[one, two] : pairs)
    for (const bool in_order : {true, false}) {
      SCOPED_TRACE(::testing::Message() << one.priority << " " << one.call << " " << two.priority << " " << two.call);
      Exchange a{.priorities = {int32_t(one.priority)}, .call = one.call, .patience = kHour};
      Exchange b{.priorities = {int32_t(two.priority)}, .call = two.call, .patience = kHour};
      const auto then = [&](Least least) {
        if (least != (expected.empty() ? std::nullopt : expected.back())) expected.push_back(least);
      };
      Start(a);
      Start(b);
      AwaitBegun();
      EndAll(in_order ? a : b);
      EXPECT_TRUE(host_.Await(ends += 2).ok());
      EndAll(in_order ? b : a);
      EXPECT_TRUE(host_.Await(++ends).ok());
      then(one);
      then(std::max(one, two));
      then(in_order ? two : one);
      then(std::nullopt);
      EXPECT_EQ(transport_.holds(), expected);
      if (HasFailure()) return;
    }
}

TEST_P(ProgressExclusiveTest, TheLeastUrgentOfAllThatAreUnderWay) {
  const Cases cases = casesOf(25);
  size_t ends = 0;
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<Exchange> under_way;
    std::set<uint32_t> begun;  // of which one message has come
    for (int i = 0; i < 30 || !under_way.empty(); ++i) {
      if (i < 30 && random() % 2 == 0) {
        Exchange exchange{.call = random() % 4, .patience = random() % 4 == 0 ? 0 : kHour, .rounds = uint32_t(1 + random() % 2), .slices = uint32_t(1 + random() % 3)};
        for (uint64_t phases = 1 + random() % 3; phases > 0; --phases)
          exchange.priorities.push_back(int32_t(random() % 9) - 4);
        Start(exchange);
        under_way.push_back(exchange);
        // Of some a message comes at once, which is not the last one.
        if (random() % 2 == 0 && exchange.rounds > 1) {
          EndRound(exchange, 0, 0);
          begun.insert(exchange.key);
        }
      } else if (!under_way.empty()) {
        std::swap(under_way[random() % under_way.size()], under_way.back());
        const Exchange exchange = under_way.back();
        under_way.pop_back();
        EndAll(exchange, begun.count(exchange.key) != 0);
        ASSERT_TRUE(host_.Await(++ends).ok());
      }
      AwaitBegun();
      ASSERT_TRUE(host_.Await(++ends).ok());
      Least expected;
      for (const Exchange &exchange : under_way)
        for (int32_t priority : exchange.priorities)
          if (exchange.patience != 0 && (!expected || *expected < Urgency{priority, exchange.call})) expected = Urgency{priority, exchange.call};
      const std::vector<Least> holds = transport_.holds();
      ASSERT_EQ(holds.empty() ? std::nullopt : holds.back(), expected);
    }
  }
  // It is only told what is new.
  Least last;
  for (const Least &least : transport_.holds()) {
    EXPECT_NE(least, last);
    last = least;
  }
}

TEST_P(ProgressExclusiveTest, AFailureHoldsNothingBack) {
  Exchange exchange{.priorities = {2}, .patience = kHour, .rounds = 2}, other{.priorities = {4}};
  Start(exchange);
  Start(other);
  EndRound(exchange, 0, 0);
  transport_.End(Asked::kReceive, other.Tag(0, 0), absl::DataLossError("damaged"));
  EXPECT_EQ(host_.Await(1).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(AwaitHold(2, std::nullopt));
  // Nor does what is begun or comes later.
  Exchange late{.priorities = {2}, .patience = kHour};
  Start(late);
  transport_.End(Asked::kReceive, exchange.Tag(0, 1));
  engine_.PeerFailed(1, absl::UnavailableError("gone"));
  EXPECT_EQ(host_.Await(1).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(transport_.holds(), ElementsAre(Urgency{2, 0}, std::nullopt));
}

TEST_P(ProgressExclusiveTest, NorDoesAPeerThatIsLost) {
  Exchange exchange{.priorities = {2}, .patience = kHour};
  Start(exchange);
  ASSERT_TRUE(AwaitHold(1, Urgency{2, 0}));
  engine_.PeerFailed(1, absl::UnavailableError("gone"));
  EXPECT_EQ(host_.Await(1).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(AwaitHold(2, std::nullopt));
}

TEST(ProgressExclusiveAloneTest, WithoutATransportItIsAnError) {
  InstructionProgram instruction;
  instruction.kind = InstructionProgram::kCommunicate;
  instruction.communicate.exclusive = kHour;
  Round round;
  round.send_peer = 1;
  PhaseProgram phase;
  phase.rounds.push_back(round);
  instruction.communicate.phases.push_back(phase);
  EndingHost host;
  ProgressEngine engine(0, nullptr, nullptr, nullptr, &host, nullptr, absl::Hours(1));
  ProgressEngine::Request request;
  request.instruction = &instruction;
  engine.Start(request);
  EXPECT_THAT(std::string(host.Await(1).message()), HasSubstr("there is no transport"));
}

}  // namespace
}  // namespace commsched::runtime::exclusive
