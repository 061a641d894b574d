// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
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

TEST(FilesTest, LinksStayAndLeadToTheNewFile) {
  TemporaryFolder folder;
  ASSERT_EQ(mkdir((folder / "far").c_str(), 0777), 0);
  std::ofstream(folder / "far/there") << "old";
  for (const auto &[to, link] : {std::pair("far/there", "one"), {"one", "two"}, {"far/new", "three"}}) {
    ASSERT_EQ(symlink(to, (folder / link).c_str()), 0);
  }
  ASSERT_EQ(symlink((folder / "far/absolute").c_str(), (folder / "four").c_str()), 0);
  for (const auto &[link, file] : {std::pair("two", "far/there"), {"three", "far/new"}, {"four", "far/absolute"}}) {
    ASSERT_TRUE(CheckWritable(folder / link).ok());
    ASSERT_TRUE(WriteFileAtomically(folder / link, {"new"}).ok());
    struct stat about;
    EXPECT_TRUE(lstat((folder / link).c_str(), &about) == 0 && S_ISLNK(about.st_mode)) << link;
    EXPECT_EQ(ReadWhole(folder / file).value(), "new");
  }
  EXPECT_THAT(NamesIn(folder / "far"), ElementsAre("absolute", "new", "there"));
  ASSERT_EQ(symlink("nowhere/file", (folder / "five").c_str()), 0);
  EXPECT_THAT(CheckWritable(folder / "five").message(), HasSubstr("No such file or directory"));
}

// As of "cs-run --metrics-json /dev/stdout > all": behind what was written there before, and in front of what comes.
TEST(FilesTest, AnOpenFileOfTheProcessIsWrittenToWhereItIs) {
  TemporaryFolder folder;
  const int file = open((folder / "all").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_EQ(write(file, "before ", 7), 7);
  ASSERT_EQ(symlink(absl::StrCat("/proc/self/fd/", file).c_str(), (folder / "stdout").c_str()), 0);
  for (const std::string &name : {absl::StrCat("/dev/fd/", file), absl::StrCat("/proc/self/fd/", file), folder / "stdout"}) {
    EXPECT_TRUE(CheckWritable(name).ok());
    EXPECT_TRUE(WriteFileAtomically(name, {"it ", "self "}).ok());
  }
  ASSERT_EQ(write(file, "behind", 6), 6);
  close(file);
  EXPECT_EQ(ReadWhole(folder / "all").value(), "before it self it self it self behind");
  EXPECT_THAT(NamesIn(folder / ""), ElementsAre("all", "stdout"));
  const int read_only = open((folder / "all").c_str(), O_RDONLY);
  EXPECT_THAT(CheckWritable(absl::StrCat("/dev/fd/", read_only)).message(), HasSubstr("Bad file descriptor"));
  close(read_only);
}

TEST(FilesTest, NewFilesHaveTheUmask) {
  TemporaryFolder folder;
  for (const mode_t mask : {0, 002, 022, 077}) {
    const mode_t before = umask(mask);
    EXPECT_TRUE(WriteFileAtomically(folder / "file", {"x"}).ok());
    umask(before);
    struct stat about;
    ASSERT_EQ(stat((folder / "file").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0666u & ~mask);
  }
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
