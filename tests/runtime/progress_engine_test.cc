// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the links of a rank send, in which order, and how much at a time.
#include "runtime/execute/progress_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/sync.h"
#include "tests/runtime/idle_transport.h"

namespace commsched::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Keeps sends until the test says that they are complete.
class HeldTransport final : public IdleTransport {
 public:
  HeldTransport() : IdleTransport(3) {}
  void Send(int peer, MessageTag tag, int32_t, absl::Span<const std::byte> bytes,
            Done done) override {
    MutexLock lock(&mu_);
    order_.push_back(tag.key);
    in_flight_[peer] += bytes.size();
    most_ = std::max(most_, in_flight_[peer]);
    sends_.push_back({peer, bytes.size(), std::move(done)});
    changed_.SignalAll();
  }

  // Waits until `count` messages have been handed over in all.
  std::vector<uint32_t> Await(size_t count) {
    MutexLock lock(&mu_);
    while (order_.size() < count) changed_.Wait(&mu_);
    return order_;
  }
  // The oldest one is complete.
  void CompleteOne() {
    Held held;
    {
      MutexLock lock(&mu_);
      while (sends_.empty()) changed_.Wait(&mu_);
      held = std::move(sends_.front());
      sends_.pop_front();
      in_flight_[held.peer] -= held.bytes;
    }
    held.done(absl::OkStatus());
  }
  size_t most() {
    MutexLock lock(&mu_);
    return most_;
  }

 private:
  struct Held {
    int peer = 0;
    size_t bytes = 0;
    Done done;
  };
  Mutex mu_;
  CondVar changed_;
  std::vector<uint32_t> order_ ABSL_GUARDED_BY(mu_);
  std::deque<Held> sends_ ABSL_GUARDED_BY(mu_);
  std::map<int, size_t> in_flight_ ABSL_GUARDED_BY(mu_);
  size_t most_ ABSL_GUARDED_BY(mu_) = 0;
};

class CountingHost final : public ProgressEngine::Host {
 public:
  void CommunicationDone(void *, uint32_t) override {
    MutexLock lock(&mu_);
    ++done_;
    changed_.SignalAll();
  }
  void CommunicationFailed(const absl::Status &why) override { FAIL() << why; }
  bool Computing() const override { return true; }
  void Await(int count) {
    MutexLock lock(&mu_);
    while (done_ < count) changed_.Wait(&mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int done_ ABSL_GUARDED_BY(mu_) = 0;
};

constexpr size_t kBytes = 1000;

class ProgressEngineTest : public ::testing::Test {
 protected:
  explicit ProgressEngineTest(absl::Duration deadline = absl::Hours(1))
      : engine_(0, &transport_, nullptr, nullptr, &host_, nullptr, deadline) {}

  // A message to peer 1 or 2. Its key is its number.
  void Start(int32_t priority, size_t credit, int peer = 1, size_t bytes = kBytes) {
    StartPhases(priority, {priority}, credit, peer, bytes);
  }
  // As many messages as phases, one after the other, with priorities of theirs.
  void StartPhases(int32_t priority, const std::vector<int32_t> &phases,
                   size_t credit, int peer = 1, size_t bytes = kBytes) {
    InstructionProgram &instruction = instructions_.emplace_back();
    instruction.kind = InstructionProgram::kCommunicate;
    instruction.priority = priority;
    instruction.communicate.key_id = uint32_t(instructions_.size() - 1);
    Round round;
    round.send_peer = peer;
    round.send_bytes = bytes;
    for (int32_t own : phases) {
      PhaseProgram phase;
      phase.priority = own;
      phase.rounds.push_back(round);
      instruction.communicate.phases.push_back(phase);
    }
    ProgressEngine::Request request;
    request.instruction = &instruction;
    request.credit = credit;
    request.buffer = memory_.data();
    engine_.Start(request);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(10 * kBytes);
  std::deque<InstructionProgram> instructions_;  // outlive the engine
  HeldTransport transport_;
  CountingHost host_;
  ProgressEngine engine_;
};

class ImpatientTest : public ProgressEngineTest {
 protected:
  ImpatientTest() : ProgressEngineTest(absl::Seconds(3)) {}
};

TEST_F(ProgressEngineTest, WithoutCreditEverythingIsHandedOverAtOnce) {
  for (int i = 0; i < 6; ++i) Start(9 - i, 0);
  EXPECT_THAT(transport_.Await(6), UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(engine_.Communicating());
  for (int i = 0; i < 6; ++i) transport_.CompleteOne();
  host_.Await(6);
  EXPECT_FALSE(engine_.Communicating());
}

TEST_F(ProgressEngineTest, UrgentMessagesOvertakeWhatTheCreditHoldsBack) {
  Start(5, 2 * kBytes);
  transport_.Await(1);
  Start(5, 2 * kBytes);
  transport_.Await(2);
  for (int i = 0; i < 3; ++i) Start(5, 2 * kBytes);  // keys 2 to 4 wait
  Start(4, 2 * kBytes);                              // key 5 does not wait for what it overtakes
  // Another link has a credit of its own, and is behind all of them in the
  // engine's queue: so they have all come.
  Start(9, 2 * kBytes, /*peer=*/2);
  EXPECT_THAT(transport_.Await(4), ElementsAre(0, 1, 5, 6));
  transport_.CompleteOne();  // key 0: keys 1 and 5 are before key 2
  Start(6, 2 * kBytes);      // key 7
  Start(9, 2 * kBytes, /*peer=*/2);
  EXPECT_THAT(transport_.Await(5), ElementsAre(0, 1, 5, 6, 8));
  for (int i = 0; i < 8; ++i) transport_.CompleteOne();
  host_.Await(9);
  EXPECT_THAT(transport_.Await(9), ElementsAre(0, 1, 5, 6, 8, 2, 3, 4, 7));
  EXPECT_EQ(transport_.most(), 3 * kBytes);
}

TEST_F(ProgressEngineTest, WhatIsMoreUrgentHasTheWholeCredit) {
  for (int i = 0; i < 2; ++i) Start(5, 2 * kBytes);
  transport_.Await(2);
  for (int i = 0; i < 3; ++i) Start(0, 2 * kBytes);  // keys 2 to 4, of which one waits
  Start(9, 2 * kBytes, /*peer=*/2);
  EXPECT_THAT(transport_.Await(5), ElementsAre(0, 1, 2, 3, 5));
  transport_.CompleteOne();  // key 0, which key 4 does not wait for
  Start(9, 2 * kBytes, /*peer=*/2);
  EXPECT_THAT(transport_.Await(6), ElementsAre(0, 1, 2, 3, 5, 6));
  for (int i = 0; i < 6; ++i) transport_.CompleteOne();
  host_.Await(7);
  EXPECT_THAT(transport_.Await(7), ElementsAre(0, 1, 2, 3, 5, 6, 4));
}

// The half of an all-reduce that distributes sums lets others pass.
TEST_F(ProgressEngineTest, PhasesHavePrioritiesOfTheirOwn) {
  StartPhases(0, {0, 5, -1}, kBytes);
  transport_.Await(1);
  StartPhases(1, {1, 1}, kBytes);
  Start(9, kBytes, /*peer=*/2);  // all have come
  EXPECT_THAT(transport_.Await(2), ElementsAre(0, 2));
  transport_.CompleteOne();
  EXPECT_THAT(transport_.Await(3), ElementsAre(0, 2, 1));
  for (int i = 0; i < 5; ++i) transport_.CompleteOne();
  host_.Await(3);
  EXPECT_THAT(transport_.Await(6), ElementsAre(0, 2, 1, 1, 0, 0));
}

TEST_F(ProgressEngineTest, AMessageAboveTheCreditGoesAlone) {
  Start(1, kBytes, 1, 5 * kBytes);
  transport_.Await(1);
  Start(2, kBytes);
  Start(3, kBytes);
  Start(9, kBytes, /*peer=*/2);
  EXPECT_THAT(transport_.Await(2), ElementsAre(0, 3));
  for (int i = 0; i < 4; ++i) transport_.CompleteOne();
  host_.Await(4);
  EXPECT_THAT(transport_.Await(4), ElementsAre(0, 3, 1, 2));
  EXPECT_EQ(transport_.most(), 5 * kBytes);
}

// Peers that wait for each other's messages crosswise go on all the same.
TEST_F(ImpatientTest, ALinkOnWhichNothingCompletesGoesOnInTheEnd) {
  for (int i = 0; i < 3; ++i) Start(i, kBytes);
  EXPECT_THAT(transport_.Await(3), ElementsAre(0, 1, 2));
  for (int i = 0; i < 3; ++i) transport_.CompleteOne();
  host_.Await(3);
}

// --- A transport that is asked for short messages -----------------------------

// Of two ranks. Has the peer's message when it has been asked `answers_at` times, or when a
// receive has been posted for it; sends are complete at once, or at the next poll.
class AskedTransport final : public Transport {
 public:
  AskedTransport(std::vector<float> message, int answers_at, bool sends_at_once)
      : message_(std::move(message)), answers_at_(answers_at), sends_at_once_(sends_at_once) {}
  int rank() const override { return 0; }
  int nodes() const override { return 2; }
  const char *name() const override { return "asked"; }
  bool polls() const override { return true; }
  size_t takes_now() const override { return 4096; }
  void Send(int, MessageTag, int32_t, absl::Span<const std::byte> bytes, Done done) override {
    sent_.assign(bytes.begin(), bytes.end());
    // What is sent stays as it is until it is complete.
    sending_ = bytes;
    if (sends_at_once_) return std::move(done)(absl::OkStatus());
    send_done_ = std::move(done);
  }
  void Recv(int, MessageTag, absl::Span<std::byte> buffer, Done done) override {
    RecvStream(0, {}, buffer.size(), 4, [buffer](size_t offset, absl::Span<const std::byte> bytes) { std::copy(bytes.begin(), bytes.end(), buffer.begin() + ptrdiff_t(offset)); }, std::move(done));
  }
  void RecvStream(int, MessageTag, size_t, size_t, Sink sink, Done done) override {
    sink_ = std::move(sink);
    recv_done_ = std::move(done);
  }
  bool TakeNow(int, MessageTag, size_t,
               absl::FunctionRef<void(absl::Span<const std::byte>)> sink) override {
    if (++asked_ != answers_at_) return false;
    ++received_;
    sink(bytes());
    return true;
  }
  bool Poll() override {
    if (send_done_) {
      unchanged_ = std::equal(sent_.begin(), sent_.end(), sending_.begin());
      std::exchange(send_done_, nullptr)(absl::OkStatus());
      return true;
    }
    if (!recv_done_) return false;
    ++received_;
    sink_(0, bytes());
    std::exchange(recv_done_, nullptr)(absl::OkStatus());
    return true;
  }
  void Abort(const absl::Status &) override {}
  void Close(absl::Duration) override {}
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }

  // Of the engine's thread, until it is destroyed.
  int asked_ = 0, received_ = 0;
  bool unchanged_ = true;

 private:
  absl::Span<const std::byte> bytes() const {
    return absl::MakeConstSpan(reinterpret_cast<const std::byte *>(message_.data()),
                               message_.size() * sizeof(float));
  }
  const std::vector<float> message_;
  const int answers_at_;
  const bool sends_at_once_;
  std::vector<std::byte> sent_;
  absl::Span<const std::byte> sending_;
  Sink sink_;
  Done send_done_, recv_done_;
};

TEST(AskedTransportTest, WhatIsTakenAndWhatIsReceivedIsTheSame) {
  for (const bool sends_at_once : {true, false})
    for (const int answers_at : {1, 2, 20, 1 << 30})
      for (const size_t count : {1, 7, 1000}) {
        std::vector<float> own(count), theirs(count), sums(count);
        for (size_t i = 0; i < count; ++i) {
          own[i] = float(i) + 1;
          theirs[i] = float(3 * i) - 2;
          sums[i] = (own[i] + theirs[i]) / 2;
        }
        InstructionProgram instruction;
        instruction.kind = InstructionProgram::kCommunicate;
        PhaseProgram phase;
        phase.combine = ops::Combine::kSum;
        phase.scale = 0.5;
        Round round;
        round.send_peer = round.recv_peer = 1;
        round.send_bytes = round.recv_bytes = count * sizeof(float);
        phase.rounds.push_back(round);
        instruction.communicate.phases.push_back(phase);
        AskedTransport transport(theirs, answers_at, sends_at_once);
        CountingHost host;
        {
          ProgressEngine engine(0, &transport, nullptr, nullptr, &host, nullptr, absl::Hours(1));
          ProgressEngine::Request request;
          request.instruction = &instruction;
          request.buffer = reinterpret_cast<std::byte *>(own.data());
          engine.Start(request);
          host.Await(1);
        }
        EXPECT_EQ(own, sums) << answers_at << " " << sends_at_once;
        EXPECT_EQ(transport.received_, 1);
        EXPECT_TRUE(transport.unchanged_);
        // What lands on what is still being sent is received beside it.
        EXPECT_EQ(transport.asked_ > 0, sends_at_once);
        EXPECT_LE(transport.asked_, 100) << "it is posted after a while";
      }
}

}  // namespace
}  // namespace commsched::runtime
