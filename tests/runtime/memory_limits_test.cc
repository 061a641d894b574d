// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/memory_limits.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/runtime/test_util.h"

namespace commsched::runtime {
namespace {

using ::testing::Eq;
using ::testing::Optional;

// A machine whose files are in a folder.
class MemoryLimitsTest : public ::testing::Test {
 protected:
  void Write(const std::string &path, const std::string &text) {
    const std::filesystem::path file = (folder_ / "root") + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  MemoryGroup Read() { return ReadMemoryGroup(folder_ / "root"); }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(MemoryLimitsTest, NothingIsKnownWithoutControlGroups) {
  EXPECT_EQ(Read().kills, std::nullopt);
  EXPECT_EQ(Read().room, std::nullopt);
  Write("/proc/self/cgroup", "\nx\n1:cpu:/a\n4:memory:\n0::/gone\n");
  EXPECT_EQ(Read().kills, std::nullopt);
  EXPECT_EQ(Read().room, std::nullopt);
}

TEST_F(MemoryLimitsTest, TheSecondVersion) {
  Write("/proc/self/cgroup", "0::/job/step\n");
  Write("/sys/fs/cgroup/job/step/memory.events", "low 0\nmax 7\noom 5\noom_kill 3\noom_group_kill 9\n");
  Write("/sys/fs/cgroup/job/memory.events", "oom_kill 4\n");
  Write("/sys/fs/cgroup/job/step/memory.max", "max\n");
  Write("/sys/fs/cgroup/job/step/memory.current", "250\n");
  EXPECT_THAT(Read().kills, Optional(Eq(3u)));
  EXPECT_EQ(Read().room, std::nullopt);
  Write("/sys/fs/cgroup/job/memory.max", "1000\n");
  EXPECT_EQ(Read().room, std::nullopt);
  Write("/sys/fs/cgroup/job/memory.current", "300\n");
  EXPECT_THAT(Read().room, Optional(Eq(700u)));
  Write("/sys/fs/cgroup/job/memory.stat", "anon 100\nfile 90\ninactive_file 20\nactive_file 30\n");
  EXPECT_THAT(Read().room, Optional(Eq(750u)));
  Write("/sys/fs/cgroup/job/step/memory.max", "900\n");
  EXPECT_THAT(Read().room, Optional(Eq(650u)));
  Write("/sys/fs/cgroup/job/step/memory.max", "100\n");
  EXPECT_THAT(Read().room, Optional(Eq(0u)));
}

TEST_F(MemoryLimitsTest, TheFirstVersion) {
  Write("/proc/self/cgroup", "9:cpu,cpuacct:/other\n4:hugetlb,memory:/job\n0::/\n");
  Write("/sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "700\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "50\n");
  Write("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1000\ntotal_inactive_file 6\ntotal_active_file 3\n");
  EXPECT_THAT(Read().kills, Optional(Eq(2u)));
  EXPECT_THAT(Read().room, Optional(Eq(659u)));
}

// The names of groups are those outside of a container, in which the tree begins at its own.
TEST_F(MemoryLimitsTest, ATreeThatBeginsAtTheGroup) {
  Write("/proc/self/cgroup", "4:memory:/docker/1234\n");
  Write("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill 6\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "500\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_THAT(Read().kills, Optional(Eq(6u)));
  EXPECT_THAT(Read().room, Optional(Eq(499u)));
}

TEST_F(MemoryLimitsTest, NumbersThatAreNone) {
  Write("/proc/self/cgroup", "0::/..\n");
  Write("/sys/fs/cgroup/memory.events", "oom_kill\noom_kill many\n");
  Write("/sys/fs/cgroup/memory.max", "-1\n");
  Write("/sys/fs/cgroup/memory.current", "1\n");
  EXPECT_EQ(Read().kills, std::nullopt);
  EXPECT_EQ(Read().room, std::nullopt);
}

}  // namespace
}  // namespace commsched::runtime
