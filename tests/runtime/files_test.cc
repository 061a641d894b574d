// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

#include "tests/runtime/test_util.h"

namespace commsched::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::set<std::string> NamesIn(const std::string &folder) {
  std::set<std::string> names;
  DIR *entries = opendir(folder.c_str());
  while (const dirent *entry = readdir(entries))
    if (entry->d_name[0] != '.') names.insert(entry->d_name);
  closedir(entries);
  return names;
}

TEST(FilesTest, OnlyWhatNobodyWritesIsRemoved) {
  TemporaryFolder folder;
  for (const char *name : {"kept", "model.unfinished-12-0", "model.unfinished-13-0"})
    std::ofstream(folder / name) << "x";
  const int held = open((folder / "model.unfinished-13-0").c_str(), O_RDONLY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  RemoveUnfinished(folder / "");
  EXPECT_THAT(NamesIn(folder / ""), ElementsAre("kept", "model.unfinished-13-0"));
  close(held);
  // The first file that is written beside it does the same.
  ASSERT_TRUE(WriteFileAtomically(folder / "kept", {"new"}).ok());
  EXPECT_THAT(NamesIn(folder / ""), ElementsAre("kept"));
}

TEST(FilesTest, AnyNameThatAFileMayHave) {
  TemporaryFolder folder;
  const std::string name(255, 'x');
  for (const char *bytes : {"old", "new"}) {
    ASSERT_TRUE(CheckWritable(folder / name).ok());
    ASSERT_TRUE(WriteFileAtomically(folder / name, {bytes}).ok());
    EXPECT_EQ(ReadWhole(folder / name).value(), bytes);
  }
  EXPECT_THAT(NamesIn(folder / ""), ElementsAre(name));
  EXPECT_THAT(WriteFileAtomically(folder / (name + "x"), {"new"}).message(), HasSubstr("File name too long"));
  EXPECT_THAT(NamesIn(folder / ""), ElementsAre(name));
}

TEST(FilesTest, WhatCannotBeReadIsNamed) {
  TemporaryFolder folder;
  EXPECT_EQ(ReadWhole(folder / "").status().message(), folder / "" + ": cannot be read: Is a directory");
  EXPECT_EQ(ReadWhole(folder / "no").status().message(),
            folder / "no" + ": cannot be read: No such file or directory");
}

TEST(FilesTest, AKilledWriterLeavesNothingForLong) {
  TemporaryFolder folder;
  const std::string file = folder / "checkpoint", bytes(8 << 20, 'x');
  bool left = false;
  for (int run = 0; run < 400 && !left; ++run) {
    const pid_t writer = fork();
    if (writer == 0)
      while (true)
        if (!WriteFileAtomically(file, {bytes, bytes}).ok()) _exit(1);
    usleep(useconds_t(2000 + 700 * (run % 20)));
    kill(writer, SIGKILL);
    int status = 0;
    waitpid(writer, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    left = NamesIn(folder / "").size() > size_t(access(file.c_str(), F_OK) == 0);
  }
  EXPECT_TRUE(left) << "no kill came while a file was written";
  RemoveUnfinished(folder / "");
  EXPECT_LE(NamesIn(folder / "").size(), 1u);
  for (const std::string &name : NamesIn(folder / "")) EXPECT_EQ(name, "checkpoint");
  if (auto read = MappedFile::Open(file); read.ok()) {
    EXPECT_EQ((*read)->bytes().size(), 2 * bytes.size());
  }
}

}  // namespace
}  // namespace commsched::runtime
