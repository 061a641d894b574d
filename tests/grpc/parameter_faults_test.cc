// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes that are killed and stopped. Trainers compare every version of every
// block with what it must be: a job that ends well has lost no update and
// applied none twice.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/conformance/conformance.h"

extern char **environ;

namespace commsched::transport {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// grpc_test_parameter_process. What it prints is kept.
class Process {
 public:
  explicit Process(std::vector<std::string> words) {
    const char *program = std::getenv("COMMSCHED_TEST_PARAMETER_PROCESS");
    words.insert(words.begin(), program ? program : "");
    std::vector<char *> argv;
    for (std::string &word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    const int failed =
        posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    EXPECT_EQ(failed, 0) << argv[0];
    if (failed != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
  }
  ~Process() {
    if (!ended_) Signal(SIGKILL);
    Wait();
    close(output_);
  }
  // Never -1, which would mean all processes.
  void Signal(int signal) {
    if (pid_ > 0) kill(pid_, signal);
  }
  // Reads until the process has said `what`; false at its end.
  bool WaitFor(const std::string &what) {
    char piece[256];
    while (!absl::StrContains(text_, what)) {
      const ssize_t size = read(output_, piece, sizeof(piece));
      if (size <= 0) return false;
      text_.append(piece, size);
    }
    return true;
  }
  // The exit status, or minus the signal.
  int Wait() {
    if (ended_) return status_;
    WaitFor("\1");
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return status_;
  }
  const std::string &text() const { return text_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string text_;
};

class ParameterFaults : public testing::Test {
 protected:
  static constexpr int kServers = 2;
  using Words = std::vector<std::string>;

  void SetUp() override {
    addresses_ = conformance::LoopbackAddresses(kServers);
    base_ = absl::StrCat(testing::TempDir(), "/parameter_faults.", getpid());
  }
  void TearDown() override {
    for (int i = 0; i < kServers; ++i) unlink(Checkpoint(i).c_str());
  }
  std::string Checkpoint(int server) { return absl::StrCat(base_, server); }
  std::unique_ptr<Process> Start(const char *role, int index, Words more) {
    Words words = {role, std::to_string(index),
                   "servers=" + absl::StrJoin(addresses_, ","),
                   "ends=" + absl::StrJoin(ends_, ",")};
    if (checkpoints_ && std::string(role) == "server")
      words.insert(words.end(), {"checkpoint=" + Checkpoint(index), "every=2"});
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(std::move(words));
  }
  // Server `which` and trainer `which` with words of their own.
  void StartAll(Words server_words, Words trainer_words, int which = 1,
                Words all = {}) {
    for (int i = 0; i < kServers; ++i) {
      Words words = i == which ? server_words : Words{};
      words.insert(words.end(), all.begin(), all.end());
      servers_.push_back(Start("server", i, words));
    }
    for (auto &server : servers_) EXPECT_TRUE(server->WaitFor("listens"));
    for (int i = 0; i < static_cast<int>(ends_.size()); ++i) {
      Words words = i == which ? trainer_words : Words{};
      words.insert(words.end(), all.begin(), all.end());
      trainers_.push_back(Start("trainer", i, words));
    }
  }
  std::string Server(int index) {
    return absl::StrCat("server ", index, " (", addresses_[index], ")");
  }
  void ExpectAllEndWell() {
    for (auto &trainer : trainers_)
      EXPECT_EQ(trainer->Wait(), 0) << trainer->text();
    for (auto &server : servers_)
      EXPECT_EQ(server->Wait(), 0) << server->text();
  }

  bool checkpoints_ = true;
  std::vector<int> ends_ = {12, 12};
  std::string base_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Process>> servers_, trainers_;
};

class KilledServer : public ParameterFaults,
                     public testing::WithParamInterface<int> {};

// Before the first checkpoint, in the middle, in the last step.
TEST_P(KilledServer, BetweenSumAndUpdateComesBack) {
  StartAll({absl::StrCat("die=", GetParam())}, {});
  EXPECT_EQ(servers_[1]->Wait(), -SIGKILL) << servers_[1]->text();
  // A slow machine may not have written any yet.
  const bool saved = access(Checkpoint(1).c_str(), F_OK) == 0;
  servers_[1] = Start("server", 1, {});
  ExpectAllEndWell();
  EXPECT_EQ(absl::StrContains(servers_[1]->text(), "restored"), saved)
      << servers_[1]->text();
}

// Again and again, from its own checkpoints.
TEST_P(KilledServer, TwiceComesBackTwice) {
  ends_ = {12, 9};  // one trainer with fewer batches
  // A server that was restored waits so long for trainers that have left.
  const std::string grace = "grace=3";
  StartAll({absl::StrCat("die=", GetParam())}, {}, 1, {grace});
  EXPECT_EQ(servers_[1]->Wait(), -SIGKILL) << servers_[1]->text();
  servers_[1] = Start("server", 1, {absl::StrCat("die=", GetParam()), grace});
  EXPECT_EQ(servers_[1]->Wait(), -SIGKILL) << servers_[1]->text();
  servers_[1] = Start("server", 1, {grace});
  ExpectAllEndWell();
}

INSTANTIATE_TEST_SUITE_P(Steps, KilledServer, testing::Values(0, 5, 11));

TEST_F(ParameterFaults, ServerWithoutCheckpointsCannotComeBack) {
  checkpoints_ = false;
  StartAll({"die=5"}, {}, 1, {"grace=3"});
  EXPECT_EQ(servers_[1]->Wait(), -SIGKILL);
  servers_[1] = Start("server", 1, {"grace=3"});
  for (auto &trainer : trainers_) {
    EXPECT_EQ(trainer->Wait(), 1);
    EXPECT_THAT(trainer->text(), AnyOf(HasSubstr("came back without updates"),
                                       HasSubstr(" gave up: ")));
    EXPECT_THAT(trainer->text(), HasSubstr(Server(1)));
  }
  for (auto &server : servers_) EXPECT_EQ(server->Wait(), 1);
}

TEST_F(ParameterFaults, ServerThatIsKilledForGood) {
  StartAll({"die=5"}, {}, 1, {"deadline=2", "grace=3"});
  for (auto &trainer : trainers_) {
    EXPECT_EQ(trainer->Wait(), 1);
    EXPECT_THAT(
        trainer->text(),
        HasSubstr(Server(1) + ": is lost, and did not come back within 2s"));
  }
  EXPECT_EQ(servers_[0]->Wait(), 1);
  EXPECT_THAT(servers_[0]->text(), HasSubstr(Server(1)));
}

TEST_F(ParameterFaults, StoppedServer) {
  StartAll({}, {"pause=3"}, 1, {"deadline=2", "grace=3", "keepalive=1"});
  EXPECT_TRUE(trainers_[1]->WaitFor("paused"));
  servers_[0]->Signal(SIGSTOP);
  EXPECT_EQ(trainers_[0]->Wait(), 1);
  EXPECT_THAT(
      trainers_[0]->text(),
      HasSubstr(Server(0) + ": is lost, and did not come back within 2s"));
}

TEST_F(ParameterFaults, KilledTrainerIsNamedByAll) {
  StartAll({}, {"pause=3"}, 1, {"grace=1"});
  EXPECT_TRUE(trainers_[1]->WaitFor("paused"));
  trainers_[1]->Signal(SIGKILL);
  const std::string what =
      "trainer 1 is lost: its connection broke, and it did not come back "
      "within 1s";
  EXPECT_EQ(trainers_[0]->Wait(), 1);
  EXPECT_THAT(trainers_[0]->text(), HasSubstr(what));
  for (auto &server : servers_) {
    EXPECT_EQ(server->Wait(), 1);
    EXPECT_THAT(server->text(),
                AnyOf(HasSubstr(what), HasSubstr("trainer 0 gave up: ")));
    EXPECT_THAT(server->text(), HasSubstr("trainer 1 is lost"));
  }
}

}  // namespace
}  // namespace commsched::transport
