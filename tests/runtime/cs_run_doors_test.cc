// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a stranger's plan can make cs-run do: nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/data/tensor_file.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using ::testing::HasSubstr;
using testing::ReadAll;
using testing::TemporaryFolder;

struct Result {
  int status = -1;
  std::string output;  // both streams
};

Result Execute(const std::string &arguments) {
  Result result;
  std::FILE *pipe = popen((COMMSCHED_CS_RUN " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    result.output += char(c);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

TEST(CsRunDoorsTest, RunsNothingOfAPlanThatIsRefused) {
  const std::string hostile = COMMSCHED_HOSTILE_OBJECTS, mark = hostile + "/ran";
  TemporaryFolder folder;
  testing::PlanBuilder plan = testing::Trainer(2);
  plan.proto().mutable_objects(0)->set_elf(ReadAll(hostile + "/constructor.so"));
  std::ofstream(folder / "hostile.plan", std::ios::binary) << plan.Bytes();
  unlink(mark.c_str());
  for (const char *options :
       {"", "--simulate", "--arena-info", "--spawn", "--rank 0 --peers a:1,b:2 --insecure",
        "--check-against step.mlir", "--report page.html --measured trace.json"}) {
    Result result = Execute((folder / "hostile.plan") + " " + options);
    EXPECT_NE(result.status, 0) << options;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1)
        << options << ": " << result.output;
    EXPECT_NE(access(mark.c_str(), F_OK), 0) << options << " ran it";
    if (result.status != 1) continue;
    EXPECT_THAT(result.output, HasSubstr("object 0: code object is not a usable ELF "
                                         "shared object: it has constructors"));
  }
}

// A job of processes that runs until it is killed, with sockets in `folder`.
pid_t StartJob(const TemporaryFolder &folder, const std::string &plan,
               const std::string &output) {
  const std::string data = folder / "data";
  if (access(data.c_str(), F_OK) != 0) {
    std::vector<float> w(testing::kTrainerSize, 0.5f), x(40 * testing::kTrainerSize, 0.1f);
    std::vector<int32_t> n = {100};
    EXPECT_TRUE(runtime::WriteSafetensors(
                    data,
                    {{"w", {ops::Element::kF32, {100}, 100, 400}, testing::BytesOf(w)},
                     {"n", {ops::Element::kI32, {}, 1, 4}, testing::BytesOf(n)}},
                    {})
                    .ok());
    EXPECT_TRUE(runtime::WriteSafetensors(
                    folder / "batch",
                    {{"x", {ops::Element::kF32, {40, 100}, 4000, 16000}, testing::BytesOf(x)}},
                    {})
                    .ok());
  }
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setenv("TMPDIR", (folder / "").c_str(), 1);
  dup2(open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), STDOUT_FILENO);
  execl(COMMSCHED_CS_RUN, COMMSCHED_CS_RUN, plan.c_str(), "--spawn", "--steps", "100000000",
        "--metrics-every", "10", "--init", data.c_str(), "--batch",
        (folder / "batch").c_str(), "--trace", (folder / "trace.json").c_str(), nullptr);
  _exit(127);
}

void AwaitStep(const std::string &output) {
  while (ReadAll(output).find("step 10:") == std::string::npos) usleep(10000);
}

std::vector<std::string> JobFolders(const TemporaryFolder &folder) {
  std::vector<std::string> found;
  for (const auto &entry : std::filesystem::directory_iterator(folder / ""))
    if (entry.path().filename().string().rfind("cs-run.job-", 0) == 0)
      found.push_back(entry.path().string());
  return found;
}

void Kill(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(CsRunDoorsTest, WhatAKilledJobLeavesIsRemovedByTheNext) {
  TemporaryFolder folder;
  const std::string plan = folder / "test.plan";
  std::ofstream(plan, std::ios::binary) << testing::Trainer(2).Bytes();
  const pid_t lives = StartJob(folder, plan, folder / "out0");
  AwaitStep(folder / "out0");
  const auto alive = JobFolders(folder);
  ASSERT_EQ(alive.size(), 2u);  // of sockets, and of parts of the trace
  const pid_t killed = StartJob(folder, plan, folder / "out1");
  AwaitStep(folder / "out1");
  Kill(killed);
  const auto left = JobFolders(folder);
  EXPECT_EQ(left.size(), 4u);
  // No secret is in any of it, nor where others can see it.
  for (const std::string &path : left)
    for (const auto &entry : std::filesystem::directory_iterator(path))
      EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  std::string arguments = ReadAll("/proc/" + std::to_string(lives) + "/task/" +
                                  std::to_string(lives) + "/children");
  for (size_t at; (at = arguments.find(' ')) != arguments.npos;
       arguments = arguments.substr(at + 1)) {
    const std::string process = "/proc/" + arguments.substr(0, at);
    for (const char *file : {"/cmdline", "/environ"})
      EXPECT_THAT(ReadAll(process + file),
                  ::testing::Not(::testing::ContainsRegex("[0-9a-f]{64}")));
  }
  const pid_t next = StartJob(folder, plan, folder / "out2");
  AwaitStep(folder / "out2");
  const auto now = JobFolders(folder);
  EXPECT_EQ(now.size(), 4u);
  for (const std::string &path : alive) EXPECT_THAT(now, ::testing::Contains(path));
  for (const std::string &path : left)
    if (std::find(alive.begin(), alive.end(), path) == alive.end()) {
      EXPECT_THAT(now, ::testing::Not(::testing::Contains(path)));
    }
  kill(lives, SIGTERM);
  kill(next, SIGTERM);
  waitpid(lives, nullptr, 0);
  waitpid(next, nullptr, 0);
  EXPECT_TRUE(JobFolders(folder).empty());
}

}  // namespace
}  // namespace commsched
