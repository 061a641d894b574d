// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When ranks share memory, and that they talk where they do not.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/ranks/grpc_transport.h"
#include "tests/conformance/conformance.h"

namespace commsched::transport::shared_ranks_test {
namespace {

using conformance::Failures;
using conformance::LoopbackAddresses;
using conformance::Result;
using runtime::TransportOptions;

// Halves of shared memory that this process has mapped.
int Mapped() {
  std::ifstream maps("/proc/self/maps");
  int mapped = 0;
  for (std::string line; std::getline(maps, line);)
    mapped += absl::StrContains(line, "memfd:commsched");
  return mapped;
}

std::vector<std::string> SocketFiles() {
  const std::string path = absl::StrCat(std::filesystem::temp_directory_path().string(),
                                        "/commsched-shared-", getpid(), "-");
  return {absl::StrCat("unix:", path, "0"), absl::StrCat("unix:", path, "1")};
}

// grpc_test_peer as rank 1, in `networks` of its own perhaps, sending all the time if it is to.
class Child {
 public:
  Child(const std::vector<std::string> &addresses, bool sends, int networks) {
    const char *program = std::getenv("COMMSCHED_TEST_PEER");
    EXPECT_NE(program, nullptr);
    std::vector<std::string> words = {program ? program : "", "1"};
    words.insert(words.end(), addresses.begin(), addresses.end());
    std::vector<char *> argv;
    for (std::string &word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    if (sends) setenv("COMMSCHED_TEST_SENDS", "1", 1);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      if (networks != 0 && unshare(networks) != 0) _exit(77);
      execv(argv[0], argv.data());
      _exit(1);
    }
    unsetenv("COMMSCHED_TEST_SENDS");
    close(ends[1]);
    output_ = ends[0];
  }
  ~Child() {
    Kill();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    close(output_);
  }
  bool Joined() {
    char line[7];
    return read(output_, line, sizeof(line)) == 7;
  }
  void Kill() {
    if (pid_ > 0) kill(pid_, SIGKILL);
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// Rank 0, with a child as rank 1.
class SharedRanksTest : public testing::Test {
 protected:
  // A killed rank leaves its own.
  ~SharedRanksTest() override {
    std::error_code ignored;
    for (const std::string &address : SocketFiles()) std::filesystem::remove(address.substr(5), ignored);
  }

  // False if there is no such child.
  bool Start(std::vector<std::string> addresses, GrpcOptions grpc = {}, bool sends = false,
             int networks = 0) {
    child_ = std::make_unique<Child>(addresses, sends, networks);
    auto rank = ConnectGrpc({.rank = 0,
                             .nodes = 2,
                             .peers = addresses,
                             .connect_deadline = absl::Seconds(networks == 0 ? 60 : 10),
                             .on_peer_failure = failures_.callback()},
                            grpc);
    if (!rank.ok()) {
      EXPECT_NE(networks, 0) << rank.status();
      return false;
    }
    rank_ = *std::move(rank);
    return child_->Joined();
  }

  Failures failures_;
  std::unique_ptr<Child> child_;
  std::unique_ptr<runtime::Transport> rank_;
};

TEST_F(SharedRanksTest, OnOneHostTheyShareMemory) {
  ASSERT_EQ(Mapped(), 0);
  ASSERT_TRUE(Start(LoopbackAddresses(2)));
  EXPECT_EQ(Mapped(), 2);
  rank_.reset();
  EXPECT_EQ(Mapped(), 0);
}

TEST_F(SharedRanksTest, NotIfOneDoesNotWantIt) {
  ASSERT_TRUE(Start(LoopbackAddresses(2), {.shared_memory = false}));
  EXPECT_EQ(Mapped(), 0);
}

TEST_F(SharedRanksTest, NotIfTheEnvironmentForbidsIt) {
  setenv("COMMSCHED_SHARED_MEMORY", "0", 1);
  EXPECT_TRUE(Start(LoopbackAddresses(2)));
  unsetenv("COMMSCHED_SHARED_MEMORY");
  EXPECT_EQ(Mapped(), 0);
}

// One socket file, two networks: what measures a network must not miss it.
TEST_F(SharedRanksTest, NotFromAnotherNetworkNamespace) {
  const std::vector<std::string> addresses = SocketFiles();
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(Start(addresses, {}, /*sends=*/true, CLONE_NEWNET));
  EXPECT_EQ(Mapped(), 0);
  std::vector<std::byte> got(100'000);
  Result result;
  rank_->Recv(1, {.step = 1}, absl::MakeSpan(got), result.done());
  EXPECT_TRUE(result.Wait().ok()) << result.Wait();
}

// A peer that is killed while it writes is lost, whatever it has left in the memory; nothing
// stays of that.
TEST_F(SharedRanksTest, AKilledWriterIsLost) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(Start(LoopbackAddresses(2), {}, /*sends=*/true));
    EXPECT_EQ(Mapped(), 2);
    std::vector<std::vector<std::byte>> buffers;
    std::vector<Result> results;
    for (uint64_t step = 1; step <= uint64_t(10 + 100 * round); ++step) {
      buffers.emplace_back(100'000);
      results.emplace_back();
      rank_->Recv(1, {.step = step}, absl::MakeSpan(buffers.back()), results.back().done());
    }
    for (const Result &result : results) ASSERT_TRUE(result.Wait().ok()) << result.Wait();
    child_->Kill();
    Result late;
    rank_->Recv(1, {.step = ~uint64_t{0}}, absl::MakeSpan(buffers[0]), late.done());
    EXPECT_EQ(late.Wait().code(), absl::StatusCode::kUnavailable) << late.Wait();
    EXPECT_TRUE(absl::StrContains(late.Wait().message(), "peer 1 (127.0.0.1:")) << late.Wait();
    rank_.reset();
    EXPECT_EQ(Mapped(), 0);
    for (const auto &entry : std::filesystem::directory_iterator("/dev/shm"))
      EXPECT_FALSE(absl::StrContains(entry.path().string(), "commsched")) << entry.path();
  }
}

}  // namespace
}  // namespace commsched::transport::shared_ranks_test
