// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the shared library as another language would.
#include "runtime/c_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace commsched {
namespace {

using ::testing::HasSubstr;

constexpr size_t kSize = 100;  // of the trainer's vectors

// Not linked: the library has the plan's messages, and so would this program.
std::string TrainerPlan() {
  std::ifstream file(COMMSCHED_TRAINER_PLAN, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(CApiTest, TrainsAWholeCluster) {
  std::string plan = TrainerPlan();
  cs_session *session = cs_session_create(plan.data(), plan.size());
  ASSERT_NE(session, nullptr) << cs_last_error();
  std::vector<float> w(kSize, 1.0f), x(4 * kSize, 2.0f);
  int n = int(kSize);
  EXPECT_EQ(cs_session_set_slot(session, "w", w.data(), w.size() * 4), 0) << cs_last_error();
  EXPECT_EQ(cs_session_set_slot(session, "n", &n, 4), 0) << cs_last_error();
  std::string trace = ::testing::TempDir() + "/c_api_trace.json";
  std::remove(trace.c_str());
  EXPECT_EQ(cs_session_set_trace(session, trace.c_str()), 0);
  for (int step = 0; step < 10; ++step) {
    // The library has its own copy: this one may change at once.
    EXPECT_EQ(cs_session_set_batch(session, "x", x.data(), x.size() * 4), 0);
    EXPECT_EQ(cs_session_call(session, nullptr, nullptr), 0) << cs_last_error();
    std::fill(x.begin(), x.end(), 2.0f);
  }
  ASSERT_EQ(cs_session_metric_count(session), 1);
  EXPECT_STREQ(cs_session_metric_name(session, 0), "loss");
  EXPECT_EQ(cs_session_metric_name(session, 1), nullptr);
  double value = 0;
  EXPECT_EQ(cs_session_metrics(session, 3, &value), 0) << cs_last_error();
  EXPECT_EQ(value, 700);
  EXPECT_EQ(cs_session_call(session, "eval", nullptr), 0) << cs_last_error();
  EXPECT_STREQ(cs_session_metric_name(session, 0), "total");
  EXPECT_EQ(cs_session_metrics(session, 10, &value), 0);
  EXPECT_EQ(value, 2100);
  EXPECT_EQ(cs_session_wait(session), 0);
  EXPECT_EQ(cs_session_get_slot(session, "w", w.data(), w.size() * 4), 0);
  EXPECT_THAT(w, ::testing::Each(21.0f));
  cs_session_destroy(session);
  EXPECT_TRUE(std::ifstream(trace).good());
  std::remove(trace.c_str());
}

TEST(CApiTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(cs_session_create("nonsense", 8), nullptr);
  EXPECT_THAT(cs_last_error(), HasSubstr("not a CommSched plan"));
  std::string plan = TrainerPlan();
  cs_session *session = cs_session_create(plan.data(), plan.size());
  ASSERT_NE(session, nullptr) << cs_last_error();
  EXPECT_STREQ(cs_last_error(), "");
  float v = 0;
  EXPECT_NE(cs_session_set_slot(session, "q", &v, 4), 0);
  EXPECT_THAT(cs_last_error(), HasSubstr("no parameter or state \"q\""));
  EXPECT_NE(cs_session_get_slot(session, "w", &v, 4), 0);
  EXPECT_THAT(cs_last_error(), HasSubstr("must match f32[100] of 400 bytes, got: 4"));
  EXPECT_NE(cs_session_call(session, nullptr, nullptr), 0);
  EXPECT_THAT(cs_last_error(), HasSubstr("needs batch \"x\""));
  EXPECT_NE(cs_session_call(session, "fly", nullptr), 0);
  EXPECT_THAT(cs_last_error(), HasSubstr("no function @fly, only @step, @eval"));
  double value;
  EXPECT_NE(cs_session_metrics(session, 0, &value), 0);
  EXPECT_NE(cs_session_set_batch(session, nullptr, &v, 4), 0);
  cs_session_destroy(session);
  cs_session_destroy(nullptr);
}

}  // namespace
}  // namespace commsched
