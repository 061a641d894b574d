// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Jobs under faults: every one ends with the values that it would have without them, or,
// where a fault does not allow that, every process that lives ends with an error. The
// machines are those that run.
#include "tests/chaos/chaos.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_join.h"
#include "tests/chaos/servers_world.h"

namespace commsched::runtime::core {
namespace {

TEST(Chaos, JobsEndAsTheyMust) {
  int well = 0, failed = 0;
  size_t plan_changes = 0, early_parts = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const ChaosRun run = RunChaos(seed);
    ASSERT_EQ(run.wrong, "") << "seed " << seed << "\n"
                             << absl::StrJoin(run.trace, "\n");
    ++(run.failed ? failed : well);
    plan_changes += run.plan_changes;
    early_parts += run.early_parts;
  }
  // Of both, so that the above says something.
  EXPECT_GT(well, 1000);
  EXPECT_GT(failed, 100);
  EXPECT_GT(plan_changes, 100u);
  EXPECT_GT(early_parts, 1000u);
}

// Found by seed 141832: a server that was stopped for longer than the grace took its own
// pause for the absence of trainers whose connections had broken, and refused them.
TEST(Chaos, AStoppedServerIsPatient) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    JobCase job = RandomJob(random);
    ServersWorld world(job, random());
    const Time at = Time(random() % uint64_t(3 * kSecond));
    for (int t = 0; t < int(job.steps.size()); ++t) world.BreakConnection(at, t, 0);
    world.StopServer(at + kSecond / 10, 0, 16 * kSecond);
    world.Run(300 * kSecond);
    ASSERT_EQ(world.Wrong(), "");
    ASSERT_FALSE(world.failed()) << absl::StrJoin(world.trace(), "\n");
  }
}

// Without another fault nothing is lost, whenever all processes are killed.
TEST(Chaos, JobsThatAreKilledBeginAgain) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    JobCase job = RandomJob(random);
    if (job.checkpoint_steps == 0) job.checkpoint_steps = 1 + random() % 3;
    ServersWorld world(job, random());
    for (Time at = kSecond; at < 8 * kSecond; at += Time(random() % uint64_t(6 * kSecond)))
      world.KillJob(at, Time(random() % uint64_t(2 * kSecond)));
    world.Run(300 * kSecond);
    ASSERT_EQ(world.Wrong(), "") << absl::StrJoin(world.trace(), "\n");
    ASSERT_FALSE(world.failed()) << absl::StrJoin(world.trace(), "\n");
  }
}

TEST(Chaos, ASeedIsTheSameRunAgain) {
  for (uint64_t seed = 1; seed <= 50; ++seed)
    EXPECT_EQ(RunChaos(seed).trace, RunChaos(seed).trace) << "seed " << seed;
}

}  // namespace
}  // namespace commsched::runtime::core
