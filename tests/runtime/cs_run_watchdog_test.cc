// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/watchdog.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace commsched::run {
namespace {

TEST(WatchdogDeathTest, EndsWhatDoesNotEndInTime) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Options options;
        Watchdog watchdog(options, absl::UnavailableError("rank 1 is lost"),
                          absl::Milliseconds(20));
        pause();
      },
      ::testing::ExitedWithCode(1), "cs-run: rank 1 is lost");
}

TEST(WatchdogTest, LetsGoWhatEnds) {
  Options options;
  Watchdog watchdog(options, absl::UnavailableError("rank 1 is lost"), absl::Hours(1));
}

}  // namespace
}  // namespace commsched::run
