// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-run --replan as a user meets it: ranks as processes, connected by gRPC.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/data/tensor_file.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadAll;
using testing::TemporaryFolder;

class CsRunReplanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(plan_, testing::Trainer(2));
    Write(other_, testing::Trainer(2, false));
    std::vector<float> w(testing::kTrainerSize, 0.5f), x;
    std::vector<int> n = {testing::kTrainerSize};
    for (int i = 0; i < 40 * testing::kTrainerSize; ++i) x.push_back(1e-3f / float(i + 1));
    auto type = [](ops::Element e, std::vector<int64_t> shape, int64_t elements) {
      return runtime::TensorInfo{e, shape, elements, size_t(elements) * 4};
    };
    ASSERT_TRUE(runtime::WriteSafetensors(init_, {{"w", type(ops::Element::kF32, {100}, 100), BytesOf(w)}, {"n", type(ops::Element::kI32, {}, 1), BytesOf(n)}}, {})
                    .ok());
    ASSERT_TRUE(
        runtime::WriteSafetensors(batch_, {{"x", type(ops::Element::kF32, {40, 100}, 4000), BytesOf(x)}}, {})
            .ok());
  }
  static void Write(const std::string &path, const testing::PlanBuilder &plan) {
    std::ofstream(path, std::ios::binary) << plan.Bytes();
  }
  std::vector<std::string> Train(std::vector<std::string> more) {
    std::vector<std::string> all = {COMMSCHED_CS_RUN, plan_, "--batch", batch_, "--init", init_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void Start(std::vector<std::string> arguments) {
    pid_ = fork();
    if (pid_ != 0) return;
    dup2(open(out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    dup2(open(err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    std::vector<char *> argv;
    for (std::string &a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int Run(const std::vector<std::string> &arguments) { return Start(arguments), Wait(); }
  std::string out() const { return ReadAll(out_path_); }
  std::string err() const { return ReadAll(err_path_); }

  // The metrics of all steps.
  static std::string StepsOf(const std::string &json) {
    const std::string text = ReadAll(json);
    return text.substr(0, text.find("\"calls\""));
  }
  static bool Gone(pid_t pid) {
    for (int i = 0; i < 2000; ++i) {
      std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
      std::string first, second, state;
      if (!(stat >> first >> second >> state) || state == "Z") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  TemporaryFolder folder_;
  std::string plan_ = folder_ / "t.plan", other_ = folder_ / "other.plan", init_ = folder_ / "init",
              batch_ = folder_ / "batch", out_path_ = folder_ / "out.txt", err_path_ = folder_ / "err.txt";
  pid_t pid_ = 0;
};

TEST_F(CsRunReplanTest, ProcessesChangeAndTheLossesDoNot) {
  const std::string with = folder_ / "with", without = folder_ / "without", a = folder_ / "a",
                    b = folder_ / "b", kept = folder_ / "kept";
  const std::string command = absl::StrCat("cp ", other_, " {plan}");
  ASSERT_EQ(Run(Train({"--spawn", "--steps", "6000", "--metrics-json", with, "--save-params", a,
                       "--replan", command, "--replan-every", "50", "--replan-folder", kept})),
            0)
      << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("re-planning 1: making a new plan: after 50 steps"),
                           HasSubstr("begins with call"), HasSubstr("runs from call")));
  EXPECT_EQ(err(), "");
  ASSERT_EQ(Run(Train({"--steps", "6000", "--metrics-json", without, "--save-params", b})), 0) << err();
  EXPECT_EQ(StepsOf(with), StepsOf(without));
  EXPECT_EQ(ReadAll(a), ReadAll(b));
  EXPECT_FALSE(ReadAll(a).empty());
  EXPECT_THAT(ReadAll(kept + "/events.json"), AllOf(HasSubstr("{\"kind\":\"begun\",\"attempt\":1"),
                                                    HasSubstr("\"kind\":\"switched\"")));
  EXPECT_THAT(ReadAll(kept + "/profile.1.json"),
              AllOf(HasSubstr("\"index\":0"), HasSubstr("\"index\":1"), HasSubstr("\"label\":\"add\"")));
  EXPECT_EQ(ReadAll(kept + "/plan.1"), ReadAll(other_));
}

TEST_F(CsRunReplanTest, PlansAreTriedAndTheLossesDoNotChange) {
  const std::string with = folder_ / "with", without = folder_ / "without", kept = folder_ / "kept",
                    none = folder_ / "none.plan";
  Write(none, testing::ServerPlan({}));
  const std::string tune = absl::StrCat(other_, ",", none, ",", other_);
  ASSERT_EQ(Run(Train({"--spawn", "--steps", "12000", "--metrics-json", with, "--tune", tune, "--tune-steps", "7",
                       "--replan-folder", kept})),
            0)
      << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("tuning: ms of a step: t "), HasSubstr(", other "), HasSubstr(", none refused; "),
                           HasSubstr(" is kept after "), Not(HasSubstr("begins with call"))));
  EXPECT_THAT(err(), HasSubstr("cs-run: warning: tuning: going on with the old plan: none: "));
  ASSERT_EQ(Run(Train({"--steps", "12000", "--metrics-json", without})), 0) << err();
  EXPECT_EQ(StepsOf(with), StepsOf(without));
  const std::string events = ReadAll(kept + "/events.json");
  EXPECT_THAT(events, AllOf(HasSubstr("\"kind\":\"switched\""), HasSubstr("{\"kind\":\"kept\"")));
  EXPECT_THAT(events.substr(events.rfind("{\"kind\"")), HasSubstr("\"kind\":\"kept\""));
}

TEST_F(CsRunReplanTest, ThreadsChangeToo) {
  ASSERT_EQ(Run(Train({"--steps", "20000", "--eval", "eval", "--replan",
                       absl::StrCat("cp ", other_, " {plan}"), "--replan-every", "50"})),
            0)
      << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("runs from call"), HasSubstr("@eval after step 20000")));
}

TEST_F(CsRunReplanTest, CommandThatFailsIsAWarning) {
  ASSERT_EQ(Run(Train({"--spawn", "--steps", "6000", "--replan", "echo no costs >&2; false {plan}",
                       "--replan-every", "50"})),
            0)
      << err();
  EXPECT_THAT(err(), HasSubstr("cs-run: warning: re-planning 1: going on with the old plan: "
                               "the command failed with status 1: no costs"));
  EXPECT_THAT(out(), AllOf(HasSubstr("step 6000"), Not(HasSubstr("runs from call"))));
}

TEST_F(CsRunReplanTest, RankKilledWhileAPlanIsMadeEndsAllAndTheCommand) {
  const std::string file = folder_ / "pid";
  Start(Train({"--spawn", "--steps", "100000000", "--replan",
               absl::StrCat("echo $$ >", file, ".part; mv ", file, ".part ", file, "; sleep 1000; : {plan}"),
               "--replan-every", "50"}));
  while (ReadAll(file).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::istringstream children(ReadAll(absl::StrCat("/proc/", pid_, "/task/", pid_, "/children")));
  const std::vector<pid_t> ranks(std::istream_iterator<pid_t>(children), {});
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGKILL);
  EXPECT_EQ(Wait(), 1);
  EXPECT_EQ(err(), "cs-run: rank 1 was killed by signal 9 (Killed)\n");
  EXPECT_TRUE(Gone(std::stoi(ReadAll(file))));
}

TEST_F(CsRunReplanTest, CommandEndsWithARankThatIsKilled) {
  const std::string file = folder_ / "pid";
  Start(Train({"--spawn", "--steps", "100000000", "--replan",
               absl::StrCat("echo $$ >", file, ".part; mv ", file, ".part ", file, "; sleep 1000; : {plan}"),
               "--replan-every", "50"}));
  while (ReadAll(file).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::istringstream children(ReadAll(absl::StrCat("/proc/", pid_, "/task/", pid_, "/children")));
  const std::vector<pid_t> ranks(std::istream_iterator<pid_t>(children), {});
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[0], SIGKILL);
  EXPECT_EQ(Wait(), 1);
  EXPECT_TRUE(Gone(std::stoi(ReadAll(file))));
}

TEST_F(CsRunReplanTest, WhatDoesNotGoTogetherIsRefused) {
  const std::string servers = folder_ / "servers.plan";
  const std::string async = folder_ / "async.plan";
  Write(servers, testing::ServerPlan({}));
  Write(async, testing::ServerPlan({.mode = plan::ParameterServers::ASYNC}));
  struct Case {
    std::vector<std::string> arguments;
    std::string error;
  };
  for (const Case &c : std::vector<Case>{
           {{plan_, "--tune-steps", "3"}, "--tune-steps needs --tune"},
           {{plan_, "--tune", other_, "--replan", "true {plan}"}, "--tune goes without --replan and its options, but --replan-folder"},
           {{plan_, "--tune", other_, "--profile", "p"}, "--tune measures by itself: it goes without --profile and --calibrate"},
           {{plan_, "--steps", "1", "--batch", batch_, "--init", init_, "--tune", folder_ / "nothing"}, "--tune: cannot read plan '"},
           {{async, "--tune", other_}, "--tune: a plan can be replaced in a run with synchronous parameter servers only"},
           {{servers, "--rank", "0", "--insecure", "--servers", "127.0.0.1:1,127.0.0.1:2", "--tune", other_}, "--tune of trainers needs --peers"},
           {{servers, "--role", "server", "--index", "0", "--insecure", "--listen", "127.0.0.1:1", "--tune", other_}, "--tune is of trainers, a server goes on as it is"},
           {{plan_, "--replan", "true"}, "--replan must name the file to write as {plan}, got: true"},
           {{plan_, "--replan", "cp x {plan}"}, "--replan needs --replan-every or --replan-when-off"},
           {{plan_, "--replan-every", "5"}, "--replan-every needs --replan"},
           {{plan_, "--replan", "cp x {plan}", "--replan-every", "5", "--profile", "p"},
            "goes without --profile"},
           {{plan_, "--replan", "cp x {plan}", "--replan-when-off", "-3"}, "must be a positive number"},
           {{servers, "--replan", "cp x {plan}", "--replan-every", "5", "--spawn"},
            "--replan goes without parameter servers"}}) {
    std::vector<std::string> all = {COMMSCHED_CS_RUN};
    all.insert(all.end(), c.arguments.begin(), c.arguments.end());
    EXPECT_NE(Run(all), 0);
    EXPECT_THAT(err(), HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace commsched
