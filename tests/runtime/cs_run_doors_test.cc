// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a stranger's plan can make cs-run do: nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::TemporaryFolder;
using ::testing::HasSubstr;

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

std::string ReadFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(CsRunDoorsTest, RunsNothingOfAPlanThatIsRefused) {
  const std::string hostile = COMMSCHED_HOSTILE_OBJECTS, mark = hostile + "/ran";
  TemporaryFolder folder;
  testing::PlanBuilder plan = testing::Trainer(2);
  plan.proto().mutable_objects(0)->set_elf(ReadFile(hostile + "/constructor.so"));
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

}  // namespace
}  // namespace commsched
