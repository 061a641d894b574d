// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peers in other processes that die or stop.
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "grpc/ranks/grpc_transport.h"
#include "tests/conformance/conformance.h"

extern char **environ;

namespace commsched::transport {
namespace {

using conformance::Failures;
using conformance::LoopbackAddresses;
using conformance::Result;
using runtime::TransportOptions;
using testing::HasSubstr;

// grpc_test_peer as rank `rank`.
class Child {
 public:
  Child(int rank, const std::vector<std::string> &addresses) {
    const char *program = std::getenv("COMMSCHED_TEST_PEER");
    EXPECT_NE(program, nullptr);
    std::vector<std::string> words = {program ? program : "",
                                      std::to_string(rank)};
    words.insert(words.end(), addresses.begin(), addresses.end());
    std::vector<char *> argv;
    for (std::string &word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    const int failed =
        posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    EXPECT_EQ(failed, 0) << argv[0];
    if (failed != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
  }
  ~Child() {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(output_);
  }
  void WaitUntilJoined() {
    char line[7];
    EXPECT_EQ(read(output_, line, sizeof(line)), 7) << "the child has ended";
  }
  // Never -1, which would mean all processes.
  void Signal(int signal) {
    if (pid_ > 0) kill(pid_, signal);
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

class LostPeerTest : public testing::TestWithParam<int> {
 protected:
  // Three ranks, of which `child` is a process of its own.
  void Start(int child, GrpcOptions grpc = {}) {
    addresses_ = LoopbackAddresses(3);
    child_ = std::make_unique<Child>(child, addresses_);
    std::vector<TransportOptions> options;
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == child) continue;
      failures_.push_back(std::make_unique<Failures>());
      options.push_back({.rank = rank,
                         .nodes = 3,
                         .peers = addresses_,
                         .on_peer_failure = failures_.back()->callback()});
    }
    for (auto &result : conformance::ConnectAll(
             [&](TransportOptions of_rank) {
               return ConnectGrpc(std::move(of_rank), grpc);
             },
             options)) {
      ASSERT_TRUE(result.ok()) << result.status();
      ranks_.push_back(*std::move(result));
    }
    child_->WaitUntilJoined();
  }

  std::vector<std::string> addresses_;
  std::unique_ptr<Child> child_;
  std::vector<std::unique_ptr<Failures>> failures_;
  std::vector<std::unique_ptr<runtime::Transport>> ranks_;
};

TEST_P(LostPeerTest, KilledPeerIsNamedByAll) {
  const int lost = GetParam();
  ASSERT_NO_FATAL_FAILURE(Start(lost));
  std::vector<std::byte> buffer(1000), message(size_t{10} << 20);
  std::vector<Result> results;
  for (auto &rank : ranks_) {
    results.emplace_back();
    rank->Recv(lost, {.step = 1}, absl::MakeSpan(buffer),
               results.back().done());
    results.emplace_back();
    rank->Send(lost, {.step = 1}, 0, message, results.back().done());
  }
  child_->Signal(SIGKILL);
  const std::string name =
      "peer " + std::to_string(lost) + " (" + addresses_[lost] + ")";
  for (const Result &result : results) {
    EXPECT_EQ(result.Wait().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(result.Wait().message()), HasSubstr(name));
  }
  for (auto &of_rank : failures_) {
    auto failures = of_rank->WaitForOne();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].first, lost);
    EXPECT_EQ(failures[0].second.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(failures[0].second.message()), HasSubstr(name));
  }
  // Later operations fail at once; those with the other rank do not.
  Result late;
  ranks_[0]->Recv(lost, {.step = 2}, absl::MakeSpan(buffer), late.done());
  EXPECT_EQ(late.Wait().code(), absl::StatusCode::kUnavailable);
  Result sent, received;
  ranks_[0]->Send(ranks_[1]->rank(), {.step = 3}, 0,
                  absl::MakeConstSpan(message), sent.done());
  std::vector<std::byte> copy(message.size());
  ranks_[1]->Recv(ranks_[0]->rank(), {.step = 3}, absl::MakeSpan(copy),
                  received.done());
  EXPECT_TRUE(received.Wait().ok()) << received.Wait();
  EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
}

// A process that is stopped keeps its connections, and answers nothing.
TEST_P(LostPeerTest, StoppedPeerIsLost) {
  const int lost = GetParam();
  ASSERT_NO_FATAL_FAILURE(Start(lost, {.keepalive = absl::Seconds(1)}));
  child_->Signal(SIGSTOP);
  for (auto &of_rank : failures_) {
    auto failures = of_rank->WaitForOne();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].first, lost);
    EXPECT_EQ(failures[0].second.code(), absl::StatusCode::kUnavailable);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LostPeerTest, testing::Values(0, 1, 2));

TEST(LostPeer, PeerThatDiesBeforeAllAreThere) {
  auto addresses = LoopbackAddresses(3);
  auto child = std::make_unique<Child>(1, addresses);
  absl::Status status;
  std::thread thread([&] {
    TransportOptions options{.rank = 0, .nodes = 3, .peers = addresses};
    status = ConnectGrpc(options).status();
  });
  // Rank 2 never comes. There is no telling here when the child has met rank
  // 0: if it had not, its death is a peer that does not come.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  child->Signal(SIGKILL);
  thread.join();
  EXPECT_THAT(std::string(status.message()), HasSubstr(addresses[1]));
}

TEST(LostPeer, AddressInUse) {
  auto addresses = LoopbackAddresses(2);
  Child child(0, addresses);
  auto first = ConnectGrpc({.rank = 1, .nodes = 2, .peers = addresses});
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = ConnectGrpc({.rank = 1, .nodes = 2, .peers = addresses});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(addresses[1]));
}

}  // namespace
}  // namespace commsched::transport
