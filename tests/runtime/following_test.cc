// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank that follows, beside a rank 0 that is the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/replanning/control_channel.h"
#include "runtime/replanning/replanner.h"
#include "tests/cases.h"
#include "tests/runtime/lanes_pair.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using namespace runtime;
using ::testing::StartsWith;

class FollowingTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kWindow = 40;

  FollowingTest() : rank_0_(pair_.lanes[0]) {
    Replanner::Settings settings;
    settings.options.window = kWindow;
    settings.options.least = 5;
    settings.ranks = {{1, pair_.lanes[1]}};
    follower_ = std::make_unique<Replanner>(std::move(settings));
    auto image = PlanImage::Load(testing::Trainer(2).Bytes());
    EXPECT_TRUE(image.ok()) << image.status();
    auto generation = follower_->Make(0, *std::move(image));
    EXPECT_TRUE(generation.ok()) << generation.status();
    generation_ = std::make_unique<Generation>(*std::move(generation));
    auto program = generation_->image->ForRank(1);
    EXPECT_TRUE(program.ok()) << program.status();
    for (int f = 0; f < int((*program)->functions.size()); ++f)
      for (uint32_t i = 0; i < (*program)->functions[size_t(f)].instructions.size(); ++i)
        for (uint64_t run = 0; run <= ProfileRecorder::kWarmUp; ++run)  // or it has nothing to say
          generation_->profile->Add(**program, f, i, 1, false);
    follower_->Start(generation_.get());
  }
  ~FollowingTest() override { follower_.reset(); }

  void Steps(uint64_t count, int64_t ns) {
    for (; count > 0; --count)
      ASSERT_TRUE(follower_->Before(call_++, /*is_step=*/true, {ns}, [] { return absl::OkStatus(); }).ok());
  }
  // What it says that a step takes, for this attempt.
  std::string Measured(uint64_t attempt) {
    rank_0_.Send(1, {{ControlMessage::kMeasure, attempt, 0}});
    auto answer = rank_0_.Receive({1}, Clock::now() + std::chrono::seconds(60));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->message.payload : "";
  }

  testing::Pair pair_;
  ControlChannel rank_0_;
  std::unique_ptr<Generation> generation_;
  std::unique_ptr<Replanner> follower_;
  uint64_t call_ = 0;
};

// The first steps of a plan fill its pipeline, and do not count.
constexpr uint64_t kFill = 2;

TEST_F(FollowingTest, SaysWhatTheStepsOfThisTrialTake) {
  // Trials, each of which rank 0 gives up, of fewer steps than there is room for and of more.
  uint64_t attempt = 0;
  const Cases cases = casesOf(200);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 draw(seed);
    const int64_t ns = std::uniform_int_distribution<int64_t>(1, 100'000'000)(draw);
    Steps(kFill, 77'000'000);
    Steps(std::uniform_int_distribution<uint64_t>(1, 2 * kWindow)(draw), ns);
    EXPECT_THAT(Measured(++attempt), StartsWith(absl::StrCat("step ", ns, " 0\n"))) << "seed " << seed;
    rank_0_.Send(1, {{ControlMessage::kForget, attempt, 0}, "kept"});
    // It has heard of that when it answers what is said behind it.
    EXPECT_THAT(Measured(attempt), StartsWith("step 0 0\n")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace commsched
