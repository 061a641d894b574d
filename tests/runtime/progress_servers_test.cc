// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages to and from parameter servers that end by any thread, drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <random>
#include <thread>

#include "runtime/execute/progress_engine.h"
#include "tests/runtime/idle_transport.h"

namespace commsched::runtime {
namespace {

using ::testing::HasSubstr;

// Answers on a thread of its own, one message after the other.
class Client final : public ParameterClient {
 public:
  explicit Client(absl::Duration each) : each_(each) {}
  ~Client() override { Close(); }
  const char *name() const override { return "test"; }
  uint64_t first_step() const override { return 0; }
  bool keeps_checkpoints() const override { return false; }
  void Push(int, uint32_t, uint64_t, absl::Span<const std::byte>, Done done) override { Take(std::move(done)); }
  void Pull(int, uint32_t, uint64_t, absl::Span<std::byte>, Done done) override { Take(std::move(done)); }
  void PullRows(int, uint32_t, uint64_t, absl::Span<const int64_t>, absl::Span<std::byte>, Done) override { FAIL(); }
  absl::Status Finish(uint64_t) override { return absl::OkStatus(); }
  void Abort(const absl::Status &) override {}
  void Close() override {
    if (thread_.joinable()) thread_.join();
  }
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }

  // The messages that there are, in a drawn order, the first `count`, the last of them with `status`.
  void Answer(size_t count, absl::Status status, uint64_t seed) {
    thread_ = std::thread([this, count, status, seed] {
      std::mt19937_64 random(seed);
      for (size_t i = 0; i < count; ++i) {
        Done done;
        {
          MutexLock lock(&mu_);
          while (waiting_.empty()) changed_.Wait(&mu_);
          std::swap(waiting_[random() % waiting_.size()], waiting_.front());
          done = std::move(waiting_.front());
          waiting_.pop_front();
        }
        std::this_thread::sleep_for(absl::ToChronoNanoseconds(each_));
        done(i + 1 == count ? status : absl::OkStatus());
      }
    });
  }

 private:
  void Take(Done done) {
    MutexLock lock(&mu_);
    waiting_.push_back(std::move(done));
    changed_.Signal();
  }
  const absl::Duration each_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Done> waiting_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

class Host final : public ProgressEngine::Host {
 public:
  void CommunicationDone(void *cookie, uint32_t instruction) override {
    MutexLock lock(&mu_);
    EXPECT_EQ(cookie, this);
    done_.push_back(instruction);
    changed_.Signal();
  }
  void CommunicationFailed(const absl::Status &why) override {
    MutexLock lock(&mu_);
    EXPECT_TRUE(failed_.ok());
    failed_ = absl::Status(why.code(), why.message());
    changed_.Signal();
  }
  bool Computing() const override { return false; }
  // When so many are done, or it has failed: all that are done, in order, each once.
  std::vector<uint32_t> Wait(size_t count, absl::Status *failed) {
    MutexLock lock(&mu_);
    while (done_.size() < count && failed_.ok()) changed_.Wait(&mu_);
    *failed = absl::Status(failed_.code(), failed_.message());
    std::sort(done_.begin(), done_.end());
    return done_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<uint32_t> done_ ABSL_GUARDED_BY(mu_);
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
};

// Between ranks, which have nothing for each other.
class Polled final : public IdleTransport {
 public:
  Polled() : IdleTransport(2) {}
  bool polls() const override { return true; }
};

struct Job {
  Job(size_t messages, absl::Duration each, absl::Duration deadline, Transport *transport = nullptr) : client(each) {
    servers.servers.resize(1);
    servers.servers[0].blocks.resize(messages);
    for (size_t i = 0; i < messages; ++i) {
      BlockProgram &block = servers.servers[0].blocks[i];
      block.key = "push" + std::to_string(i);
      block.pull_key = "pull" + std::to_string(i);
      block.gradient.bytes = block.value.bytes = sizeof(buffer);
      InstructionProgram &instruction = instructions.emplace_back();
      instruction.kind = i % 2 == 0 ? InstructionProgram::kPush : InstructionProgram::kPull;
      instruction.message.block = uint32_t(i);
    }
    engine = std::make_unique<ProgressEngine>(0, transport, &client, &servers, &host, nullptr, deadline);
  }
  ~Job() {
    client.Close();
    engine.reset();
  }
  void Start() {
    for (size_t i = 0; i < instructions.size(); ++i) {
      ProgressEngine::Request request;
      request.instruction = &instructions[i];
      request.index = uint32_t(i);
      request.cookie = static_cast<void *>(&host);
      request.buffer = buffer;
      engine->Start(request);
    }
  }

  std::byte buffer[8] = {};
  ServersProgram servers;
  std::deque<InstructionProgram> instructions;
  Client client;
  Host host;
  std::unique_ptr<ProgressEngine> engine;
};

TEST(ProgressServers, EachEndsOnce) {
  std::mt19937_64 random(1);
  for (int time = 0; time < 50; ++time) {
    const size_t messages = 1 + random() % 60;
    Job job(messages, absl::Microseconds(random() % 3 * 50), absl::Seconds(60));
    job.client.Answer(messages, absl::OkStatus(), random());
    job.Start();
    absl::Status failed;
    std::vector<uint32_t> all(messages);
    for (uint32_t i = 0; i < messages; ++i) all[i] = i;
    EXPECT_EQ(job.host.Wait(messages, &failed), all);
    EXPECT_TRUE(failed.ok()) << failed;
    job.client.Close();
    EXPECT_FALSE(job.engine->Communicating());
  }
}

TEST(ProgressServers, OneThatFailsIsNamed) {
  std::mt19937_64 random(2);
  for (int time = 0; time < 50; ++time) {
    const size_t messages = 1 + random() % 60, good = random() % messages;
    Job job(messages, absl::ZeroDuration(), absl::Seconds(60));
    job.client.Answer(good + 1, absl::DataLossError("the disk is on fire"), random());
    job.Start();
    absl::Status failed;
    EXPECT_LE(job.host.Wait(messages, &failed).size(), good);
    EXPECT_EQ(failed.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(failed.message()), HasSubstr(": the disk is on fire"));
    EXPECT_THAT(std::string(failed.message()), ::testing::AnyOf(HasSubstr("push of \"push"), HasSubstr("pull of \"pull")));
  }
}

// All of them together take longer than any may take without progress, and the engine hears of none of them.
TEST(ProgressServers, WhatEndsIsProgress) {
  constexpr size_t kMessages = 60;
  Job job(kMessages, absl::Milliseconds(60), absl::Milliseconds(500));
  job.client.Answer(kMessages, absl::OkStatus(), 3);
  job.Start();
  absl::Status failed;
  EXPECT_EQ(job.host.Wait(kMessages, &failed).size(), kMessages);
  EXPECT_TRUE(failed.ok()) << failed;
}

TEST(ProgressServers, BehindTheLastNothingIsAwaited) {
  Job job(5, absl::ZeroDuration(), absl::Milliseconds(40));
  job.client.Answer(5, absl::OkStatus(), 4);
  job.Start();
  absl::Status failed;
  EXPECT_EQ(job.host.Wait(5, &failed).size(), 5u);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  job.host.Wait(5, &failed);
  EXPECT_TRUE(failed.ok()) << failed;
}

// A transport that has to be asked again and again is not, while only servers have something.
TEST(ProgressServers, WaitingForThemTakesNoProcessor) {
  Polled transport;
  Job job(4, absl::Milliseconds(100), absl::Seconds(60), &transport);
  job.client.Answer(4, absl::OkStatus(), 5);
  const std::clock_t begin = std::clock();
  job.Start();
  absl::Status failed;
  EXPECT_EQ(job.host.Wait(4, &failed).size(), 4u);
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 0.1);  // of the 0.4 s that it takes
}

TEST(ProgressServers, WhatDoesNotEndIsNamed) {
  Job job(3, absl::ZeroDuration(), absl::Milliseconds(40));
  job.Start();
  absl::Status failed;
  EXPECT_TRUE(job.host.Wait(3, &failed).empty());
  EXPECT_EQ(failed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("push of \"push0\""));
}

}  // namespace
}  // namespace commsched::runtime
