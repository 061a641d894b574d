// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the shared library as another language would.
#include "runtime/c_api/c_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(CApiTest, CallsAndStepsAreCounted) {
  std::string plan = TrainerPlan();
  cs_session *session = cs_session_create(plan.data(), plan.size());
  ASSERT_NE(session, nullptr) << cs_last_error();
  std::vector<float> w(kSize, 0.0f), x(4 * kSize, 1.0f);
  int n = int(kSize);
  ASSERT_EQ(cs_session_set_slot(session, "w", w.data(), w.size() * 4), 0);
  ASSERT_EQ(cs_session_set_slot(session, "n", &n, 4), 0);
  uint64_t steps = 99, number = 99;
  EXPECT_EQ(cs_session_steps(session, &steps), 0);
  EXPECT_EQ(steps, 0u);
  EXPECT_NE(cs_session_call(session, nullptr, &number), 0);
  EXPECT_EQ(number, 99u);  // there was no batch
  for (uint64_t step : {0, 1, 2}) {
    ASSERT_EQ(cs_session_set_batch(session, "x", x.data(), x.size() * 4), 0);
    ASSERT_EQ(cs_session_call(session, nullptr, &number), 0);
    EXPECT_EQ(number, step);
  }
  ASSERT_EQ(cs_session_call(session, "eval", &number), 0);
  EXPECT_EQ(number, 3u);
  EXPECT_EQ(cs_session_steps(session, &steps), 0);
  EXPECT_EQ(steps, 3u);
  EXPECT_EQ(cs_session_finish(session), 0);
  cs_session_destroy(session);
}

TEST(CApiTest, NoSessionIsAnError) {
  double value;
  uint64_t number;
  EXPECT_NE(cs_session_wait(nullptr), 0);
  EXPECT_THAT(cs_last_error(), HasSubstr("there is no session: it is closed"));
  EXPECT_NE(cs_session_finish(nullptr), 0);
  EXPECT_NE(cs_session_steps(nullptr, &number), 0);
  EXPECT_NE(cs_session_call(nullptr, nullptr, &number), 0);
  EXPECT_NE(cs_session_set_slot(nullptr, "w", &value, 8), 0);
  EXPECT_NE(cs_session_get_slot(nullptr, "w", &value, 8), 0);
  EXPECT_NE(cs_session_set_batch(nullptr, "x", &value, 8), 0);
  EXPECT_NE(cs_session_save_rank_state(nullptr, "/nowhere"), 0);
  EXPECT_NE(cs_session_load_rank_state(nullptr, "/nowhere", 1), 0);
  EXPECT_NE(cs_session_metrics(nullptr, 0, &value), 0);
  EXPECT_NE(cs_session_set_trace(nullptr, nullptr), 0);
  EXPECT_EQ(cs_session_metric_count(nullptr), 0);
  EXPECT_EQ(cs_session_metric_name(nullptr, 0), nullptr);
  EXPECT_STREQ(cs_session_replans(nullptr), "[]");
}

TEST(CApiTest, AForkedProcessHasNoSession) {
  std::string plan = TrainerPlan();
  cs_session *session = cs_session_create(plan.data(), plan.size());
  ASSERT_NE(session, nullptr) << cs_last_error();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // No assertions: they would be the parent's.
    bool fine = cs_session_wait(session) != 0 &&
                std::string(cs_last_error()).find("a forked process") != std::string::npos;
    cs_session_destroy(session);
    fine = fine && cs_session_create(plan.data(), plan.size()) == nullptr &&
           std::string(cs_last_error()).find("forked while a session ran") != std::string::npos;
    _exit(fine ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(cs_session_wait(session), 0);
  cs_session_destroy(session);
  // A process that is forked when there is none may have its own.
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    cs_session *own = cs_session_create(plan.data(), plan.size());
    const bool fine = own != nullptr && cs_session_wait(own) == 0;
    cs_session_destroy(own);
    _exit(fine ? 7 : 1);
  }
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace commsched
