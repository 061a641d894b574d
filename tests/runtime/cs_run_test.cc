// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-run as a user meets it: its output, its exit status, its processes.
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
#include "tests/runtime/test_util.h"

namespace commsched::whole_cs_run {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using ::testing::HasSubstr;
using testing::ReadAll;
using testing::TemporaryFolder;
using testing::TokenFile;

// A running cs-run with its output in files.
class Process {
 public:
  Process(const TemporaryFolder &folder, const std::vector<std::string> &arguments)
      : out_(folder / "out.txt"), err_(folder / "err.txt") {
    std::vector<std::string> all = {COMMSCHED_CS_RUN};
    all.insert(all.end(), arguments.begin(), arguments.end());
    pid_ = fork();
    if (pid_ != 0) return;
    dup2(open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
    dup2(open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDERR_FILENO);
    std::vector<char *> argv;
    for (const std::string &a : all) argv.push_back(const_cast<char *>(a.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  // Exit status, or 128 + the signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }
  std::vector<pid_t> Children() const {
    std::string base = "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_);
    std::istringstream text(ReadAll(base + "/children"));
    return std::vector<pid_t>(std::istream_iterator<pid_t>(text), {});
  }
  std::string out() const { return ReadAll(out_); }
  std::string err() const { return ReadAll(err_); }

 private:
  std::string out_, err_;
  pid_t pid_;
};

void Pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

class CsRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(plan_, std::ios::binary) << testing::Trainer(4).Bytes();
    std::vector<float> w(testing::kTrainerSize, 0.5f), x;
    std::vector<int> n = {testing::kTrainerSize};
    for (int i = 0; i < 40 * testing::kTrainerSize; ++i) x.push_back(1.0f / float(i + 1));
    auto type = [](ops::Element e, std::vector<int64_t> shape, int64_t elements) {
      return runtime::TensorInfo{e, shape, elements, size_t(elements) * 4};
    };
    ASSERT_TRUE(runtime::WriteSafetensors(init_, {{"w", type(ops::Element::kF32, {100}, 100), BytesOf(w)}, {"n", type(ops::Element::kI32, {}, 1), BytesOf(n)}}, {})
                    .ok());
    ASSERT_TRUE(
        runtime::WriteSafetensors(batch_, {{"x", type(ops::Element::kF32, {40, 100}, 4000), BytesOf(x)}}, {})
            .ok());
  }
  // Arguments to train, and then some.
  std::vector<std::string> Train(std::vector<std::string> more) {
    std::vector<std::string> all = {plan_, "--batch", batch_, "--init", init_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Training in which a fragment fails on rank 2, in the fourth step.
  void MakeRank2Fail() {
    testing::PlanBuilder plan = testing::Trainer(4);
    testing::FunctionBuilder step(plan.proto().mutable_functions(0));
    step.Run("picky", {3, 0}, {step.Arena(plan::F32, {})}, {{4, 1}});  // n, x
    std::ofstream(plan_, std::ios::binary) << plan.Bytes();
    std::vector<float> x(40 * testing::kTrainerSize, 1.0f);
    x[(4 * 3 + 2) * testing::kTrainerSize] = -1;
    ASSERT_TRUE(runtime::WriteSafetensors(
                    batch_, {{"x", {ops::Element::kF32, {40, 100}, 4000, 16000}, BytesOf(x)}}, {})
                    .ok());
  }

  int Run(const std::vector<std::string> &arguments) {
    Process process(folder_, arguments);
    int status = process.Wait();
    out_ = process.out();
    err_ = process.err();
    return status;
  }

  TemporaryFolder folder_;
  std::string plan_ = folder_ / "t.plan", init_ = folder_ / "init", batch_ = folder_ / "batch";
  std::string out_, err_;
};

TEST_F(CsRunTest, ThreadsAndProcessesTrainTheSame) {
  std::string a = folder_ / "a", b = folder_ / "b";
  ASSERT_EQ(Run(Train({"--epochs", "3", "--shuffle", "--save-params", a, "--eval", "eval"})), 0)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("step 30: loss"), HasSubstr("@eval after step 30: total"),
                          HasSubstr("step time"), HasSubstr("exposed communication")));
  std::string first = out_.substr(0, out_.find("step time"));
  ASSERT_EQ(Run(Train({"--epochs", "3", "--shuffle", "--save-params", b, "--eval", "eval",
                       "--spawn", "4"})),
            0)
      << err_;
  EXPECT_EQ(out_.substr(0, out_.find("step time")), first);
  EXPECT_EQ(ReadAll(a), ReadAll(b));
  EXPECT_FALSE(ReadAll(a).empty());
}

TEST_F(CsRunTest, ResumeGoesOnAsIfItHadNotStopped) {
  std::string whole = folder_ / "whole", half = folder_ / "half", rest = folder_ / "rest";
  ASSERT_EQ(Run(Train({"--steps", "24", "--shuffle", "--checkpoint", whole})), 0) << err_;
  ASSERT_EQ(Run(Train({"--steps", "13", "--shuffle", "--checkpoint", half})), 0) << err_;
  ASSERT_EQ(Run({plan_, "--batch", batch_, "--resume", half, "--steps", "11", "--shuffle",
                 "--checkpoint", rest}),
            0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("step 24: loss"));
  EXPECT_EQ(ReadAll(whole), ReadAll(rest));
}

TEST_F(CsRunTest, WritesTraceAndMetrics) {
  std::string trace = folder_ / "t.json", json = folder_ / "m.json";
  ASSERT_EQ(Run(Train({"--steps", "5", "--trace", trace, "--metrics-json", json})), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("trace: " + trace));
  EXPECT_THAT(ReadAll(trace), HasSubstr("traceEvents"));
  EXPECT_THAT(ReadAll(json), AllOf(HasSubstr("\"step\":5,\"loss\":"), HasSubstr("\"step_ms\":"), HasSubstr("\"first_step_ms\":")));
}

TEST_F(CsRunTest, BadInputGivesOneErrorAndAStatus) {
  struct Case {
    std::vector<std::string> arguments;
    std::string error;
  };
  std::string damaged = folder_ / "damaged", nothing = folder_ / "nothing";
  std::ofstream(damaged, std::ios::binary) << ReadAll(plan_).substr(0, 1000);
  std::vector<Case> cases = {
      {{}, "no plan is given"},
      {{plan_, "--fly"}, "unknown option --fly"},
      {{plan_, "--steps", "many"}, "--steps must be a number"},
      {{plan_, "--deadline", "-1"}, "--deadline must be a positive number"},
      {{nothing}, "nothing: cannot be opened"},
      {{damaged}, "plan is truncated"},
      {{plan_, "--spawn", "2"}, "plan is made for a cluster of 4 nodes, got: 2"},
      {{plan_, "--rank", "0", "--peers", "127.0.0.1:1"}, "must share a secret: --token-file"},
      {{plan_, "--rank", "0", "--peers", "127.0.0.1:1", "--insecure"},
       "plan is made for a cluster of 4 nodes, got: 1"},
      {{plan_, "--transport", "grpc"}, "needs --spawn"},
      {{plan_, "--transport", "udp"}, "must be in-process, grpc or mpi"},
      {{plan_, "--batch", batch_}, "\"w\" has no initial value"},
      {{plan_, "--init", init_}, "needs batch \"x\": give --batch"},
      {{plan_, "--batch", init_, "--init", init_}, "batch \"x\" is missing"},
      {{plan_, "--batch", batch_, "--init", batch_}, "tensor \"x\" is no parameter"},
      {{plan_, "--batch", batch_, "--resume", init_}, "is no checkpoint"},
      {{plan_, "--batch", batch_, "--init", init_, "--call", "fly"}, "no function @fly"},
  };
  for (const Case &c : cases) {
    EXPECT_NE(Run(c.arguments), 0) << c.error;
    EXPECT_THAT(err_, HasSubstr(c.error));
    EXPECT_THAT(err_, ::testing::StartsWith("cs-run: "));
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  }
}

TEST_F(CsRunTest, PeerThatNeverComesIsNamed) {
  std::string peers = "unix:" + (folder_ / "0");
  for (int r = 1; r < 4; ++r) peers += ",unix:" + (folder_ / std::to_string(r));
  EXPECT_EQ(Run(Train({"--rank", "0", "--peers", peers, "--insecure", "--deadline", "0.5"})), 1);
  EXPECT_THAT(err_, AllOf(HasSubstr("cs-run: rank 0: peers 1 ("), HasSubstr("did not join within 500ms")));
}

TEST_F(CsRunTest, KilledRankEndsAllProcesses) {
  Process run(folder_, Train({"--steps", "100000000", "--metrics-every", "10", "--spawn", "4"}));
  while (run.out().find("step 10:") == std::string::npos) Pause();
  std::vector<pid_t> children = run.Children();
  ASSERT_EQ(children.size(), 4u);
  kill(children[2], SIGKILL);
  EXPECT_EQ(run.Wait(), 1);
  // What the others say is only what this comes to.
  EXPECT_EQ(run.err(), "cs-run: rank 2 was killed by signal 9 (Killed)\n");
  for (pid_t child : children) EXPECT_NE(kill(child, 0), 0);
}

TEST_F(CsRunTest, FragmentThatFailsOnOneRankIsNamedOnce) {
  MakeRank2Fail();
  std::string trace = folder_ / "t.json";
  EXPECT_EQ(Run(Train({"--spawn", "4", "--trace", trace})), 1);
  EXPECT_EQ(err_,
            "cs-run: rank 2: fragment \"picky\" (test.mlir:1:1): calls kernel 1000, which the plan lacks\n");
  for (const char *rank : {"0", "1", "2", "3"})
    EXPECT_THAT(ReadAll(trace), HasSubstr(absl::StrCat("{\"name\":\"rank ", rank, "\"}")));
}

TEST_F(CsRunTest, ReasonOfAPeerComesAsItIs) {
  MakeRank2Fail();
  TemporaryFolder folders[4];  // of sockets and output
  std::string peers;
  for (auto &folder : folders) peers += (peers.empty() ? "unix:" : ",unix:") + (folder / "socket");
  std::vector<Process> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.emplace_back(folders[r], Train({"--rank", std::to_string(r), "--peers", peers, "--token-file", TokenFile(folder_)}));
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(ranks[size_t(r)].Wait(), 1);
    EXPECT_THAT(ranks[size_t(r)].err(),
                HasSubstr("fragment \"picky\" (test.mlir:1:1): calls kernel 1000"));
  }
}

TEST_F(CsRunTest, ErrorOfEveryRankIsShownOnce) {
  EXPECT_EQ(Run({plan_, "--batch", batch_, "--init", batch_, "--spawn", "4"}), 1);
  EXPECT_THAT(err_, HasSubstr("tensor \"x\" is no parameter"));
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
}

TEST_F(CsRunTest, TraceThatCannotBeWrittenIsFoundBeforeTheTraining) {
  std::string trace = folder_ / "nowhere/t.json";
  EXPECT_EQ(Run(Train({"--spawn", "4", "--trace", trace})), 1);
  EXPECT_EQ(err_, "cs-run: " + trace + ": cannot be written: No such file or directory\n");
  EXPECT_EQ(out_, "");
}

TEST_F(CsRunTest, InterruptedProcessesLeaveATrace) {
  std::string trace = folder_ / "t.json";
  Process run(folder_, Train({"--steps", "100000000", "--metrics-every", "10", "--spawn", "4",
                              "--trace", trace}));
  while (run.out().find("step 10:") == std::string::npos) Pause();
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 128 + SIGINT);
  EXPECT_EQ(run.err(), "cs-run: ended by signal 2 (Interrupt)\n");
  for (const char *rank : {"0", "1", "2", "3"})
    EXPECT_THAT(ReadAll(trace), HasSubstr(absl::StrCat("{\"name\":\"rank ", rank, "\"}")));
}

TEST_F(CsRunTest, NoProcessIsLeftIfTheParentIsKilled) {
  Process run(folder_, Train({"--steps", "100000000", "--metrics-every", "10", "--spawn", "4"}));
  while (run.out().find("step 10:") == std::string::npos) Pause();
  std::vector<pid_t> children = run.Children();
  ASSERT_EQ(children.size(), 4u);
  kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  // Gone, or waiting for whoever inherited them.
  for (pid_t child : children)
    while (kill(child, 0) == 0 &&
           ReadAll("/proc/" + std::to_string(child) + "/stat").find(") Z") == std::string::npos)
      Pause();
}

TEST_F(CsRunTest, InterruptEndsInGoodOrder) {
  std::string checkpoint = folder_ / "c";
  Process run(folder_, Train({"--steps", "100000000", "--metrics-every", "10", "--checkpoint",
                              checkpoint}));
  while (run.out().find("step 10:") == std::string::npos) Pause();
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 130);
  EXPECT_THAT(run.out(), HasSubstr("stopped after step"));
  EXPECT_TRUE(runtime::ReadSafetensors(checkpoint).ok());
}

}  // namespace
}  // namespace commsched::whole_cs_run
