// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/nccl_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace commsched::runtime::cuda {
namespace {

constexpr Time kSecond = 1'000'000'000;

class NcclWatchTest : public ::testing::Test {
 protected:
  absl::Status At(Time now) { return watch_.Check(NcclResult::kSuccess, "", now); }
  NcclWatch watch_{1, 4, 10 * kSecond};
};

TEST_F(NcclWatchTest, CountsFromWhenTheInputsAreThere) {
  watch_.Called({"w0", 3}, 0);
  watch_.Accepted();
  EXPECT_TRUE(At(1000 * kSecond).ok());
  watch_.Ready(1, 1000 * kSecond);
  EXPECT_TRUE(At(1010 * kSecond - 1).ok());
  EXPECT_EQ(
      At(1010 * kSecond),
      absl::DeadlineExceededError("rank 1 of 4: collective \"w0\" of step 3: no progress for 10s"));
}

TEST_F(NcclWatchTest, CountsFromTheEndOfTheOneBefore) {
  watch_.Called({"w0", 3}, 0);
  watch_.Accepted();
  watch_.Called({"w1", 3}, 0);
  watch_.Accepted();
  watch_.Ready(2, 0);
  watch_.Ended(1, 9 * kSecond);
  EXPECT_TRUE(At(19 * kSecond - 1).ok());
  EXPECT_THAT(std::string(At(19 * kSecond).message()), ::testing::HasSubstr("\"w1\" of step 3"));
  watch_.Ended(1, 19 * kSecond);
  EXPECT_TRUE(At(1000 * kSecond).ok());
  EXPECT_EQ(watch_.open(), 0u);
}

TEST_F(NcclWatchTest, NamesTheFirstThatHasNotEnded) {
  watch_.Called({"w0", 3}, 0);
  watch_.Accepted();
  watch_.Called({"w1", 3}, 0);
  watch_.Ready(1, 0);
  EXPECT_EQ(watch_.Check(NcclResult::kRemoteError, "remote process exited", 0),
            absl::UnavailableError(
                "rank 1 of 4: collective \"w0\" of step 3: NCCL: remote process exited"));
  watch_.Ended(1, 0);
  EXPECT_EQ(watch_.Check(NcclResult::kInternalError, "internal error", 0),
            absl::InternalError("rank 1 of 4: collective \"w1\" of step 3: NCCL: internal error"));
  watch_.Ended(1, 0);
  EXPECT_EQ(watch_.Check(NcclResult::kInternalError, "internal error", 0),
            absl::InternalError("rank 1 of 4: no collective under way: NCCL: internal error"));
}

TEST_F(NcclWatchTest, ACallThatIsNotTakenHasTheDeadline) {
  watch_.Called({"w0", 3}, kSecond);
  EXPECT_TRUE(watch_.Check(NcclResult::kInProgress, "", 11 * kSecond - 1).ok());
  EXPECT_EQ(watch_.Check(NcclResult::kInProgress, "", 11 * kSecond),
            absl::DeadlineExceededError(
                "rank 1 of 4: collective \"w0\" of step 3: NCCL has not taken the call for 10s"));
  EXPECT_EQ(watch_.Refused(NcclResult::kInvalidUsage, "invalid usage"),
            absl::InternalError("rank 1 of 4: collective \"w0\" of step 3: NCCL: invalid usage"));
}

}  // namespace
}  // namespace commsched::runtime::cuda
