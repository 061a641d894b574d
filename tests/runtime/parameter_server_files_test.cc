// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server by itself: its checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/transport/parameter_client.h"
#include "tests/runtime/single_server.h"

namespace commsched {
namespace {

using namespace testing::single_server;
using ::testing::HasSubstr;
using testing::ServerPlanOptions;

// Blocks that are updated one by one, and together.
class ServerFilesTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Blocks, ServerFilesTest, ::testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "Together" : "OneByOne";
                         });

// Saved in the middle of a step, with a push that has not been applied, one of a
// later step and a block that is behind.
TEST_P(ServerFilesTest, RestoredServerGoesOnBitwiseTheSame) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "server";
  Reference reference;
  for (int step = 0; step < 8; ++step) reference.Step(step, {0, 1});
  {
    Server server({.together = GetParam()});
    server.Start();
    for (int step = 0; step < 3; ++step) server.PushAll(step);
    ASSERT_TRUE(server.Push(0, kB, 3).ok());
    ASSERT_TRUE(server.Push(1, kW, 3).ok());
    ASSERT_TRUE(server.Push(1, kW, 4).ok());
    ASSERT_TRUE(server->Save(path).ok());
    // What happens afterwards is lost.
    ASSERT_TRUE(server.Push(1, kB, 3).ok());
  }
  Server server({.together = GetParam()});
  absl::Status restored = server->Restore(path);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_THAT(server->taken(0).next, ::testing::ElementsAre(3, 4));
  EXPECT_THAT(server->taken(1).next, ::testing::ElementsAre(5, 3));
  EXPECT_EQ(*server->Join(0), 3u);
  EXPECT_EQ(*server->Join(1), 3u);
  EXPECT_FALSE(server->Restore(path).ok());
  // Trainers repeat what they are not sure of.
  for (int step = 2; step < 8; ++step) server.PushAll(step);
  EXPECT_EQ(*server.Pull(0, kW, 8), reference.w);
  EXPECT_EQ(*server.Pull(1, kB, 8), reference.b);
  for (int t : {0, 1}) ASSERT_TRUE(server->Finish(t, 8).ok());
  EXPECT_TRUE(server->Wait().ok());
}

TEST(ParameterServerFilesTest, RestoredAsynchronousServerAppliesOnce) {
  testing::TemporaryFolder folder;
  const ServerPlanOptions plan = {.trainers = 2, .mode = plan::ParameterServers::ASYNC};
  Floats expected(testing::kBias, 2.0f);
  for (auto [t, step] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}}) {
    Floats g = Gradient(t, step, testing::kBias);
    for (size_t i = 0; i < g.size(); ++i) expected[i] = expected[i] - g[i] * 0.25f;
  }
  {
    Server server(plan);
    server.Start();
    for (auto [t, step] : {std::pair{0, 0}, {1, 0}, {1, 1}})
      ASSERT_TRUE(server.Push(t, kB, step).ok());
    ASSERT_TRUE(server->Save(folder / "s").ok());
  }
  Server server(plan);
  ASSERT_TRUE(server->Restore(folder / "s").ok());
  server.Join();
  for (auto [t, step] : {std::pair{1, 0}, {1, 1}, {0, 0}, {0, 1}})
    ASSERT_TRUE(server.Push(t, kB, step).ok());
  EXPECT_EQ(*server.Pull(0, kB, 2), expected);
}

// While trainers work, from another thread: what is saved is a step of the job.
TEST_P(ServerFilesTest, SavesAtACommonStepWhileTrainersWork) {
  testing::TemporaryFolder folder;
  constexpr int kSteps = 60;
  Server server({.together = GetParam()});
  server.Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; ++step) {
        for (uint32_t b : {kB, kW}) ASSERT_TRUE(server.Push(t, b, step).ok());
        for (uint32_t b : {kB, kW}) ASSERT_TRUE(server.Pull(t, b, step + 1).ok());
      }
    });
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    paths.push_back(folder / std::to_string(i));
    absl::Status saved = server->Save(paths.back());
    ASSERT_TRUE(saved.ok()) << saved;
  }
  for (std::thread &thread : threads) thread.join();
  Reference end;
  for (int step = 0; step < kSteps; ++step) end.Step(step, {0, 1});
  for (const std::string &path : paths) {
    Server again({.together = GetParam()});
    ASSERT_TRUE(again->Restore(path).ok());
    int done = int(*again->Join(0));
    ASSERT_TRUE(again->Join(1).ok());
    for (int step = done; step < kSteps; ++step) {
      again.PushAll(step);
      ASSERT_TRUE(again.Pull(0, kB, step + 1).ok());
    }
    EXPECT_EQ(*again.Pull(0, kW, kSteps), end.w);
    EXPECT_EQ(*again.Pull(0, kB, kSteps), end.b);
  }
}

TEST(ParameterServerFilesTest, DamagedCheckpointsAreRefused) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "server";
  {
    Server server;
    server.Start();
    server.PushAll(0);
    ASSERT_TRUE(server.Push(0, kW, 1).ok());
    ASSERT_TRUE(server->Save(path).ok());
    EXPECT_FALSE(server->Save(folder / "no/such/folder").ok());
  }
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  auto restore = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    Server server;
    return std::string(server->Restore(path).message());
  };
  EXPECT_EQ(restore(whole), "");
  for (size_t n = 0; n < whole.size(); n += 97) EXPECT_NE(restore(whole.substr(0, n)), "") << n;
  for (size_t i = 8; i < whole.size(); i += 41) {
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ 1);
    if (whole[i] == ' ') continue;  // padding of the header
    EXPECT_NE(restore(damaged), "") << i;
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << whole;
  Server other({.trainers = 2, .mean = false});
  EXPECT_THAT(std::string(other->Restore(path).message()), HasSubstr("of another plan"));
  Server zero({}, absl::Seconds(30), 0);
  EXPECT_THAT(std::string(zero->Restore(path).message()), HasSubstr("is of server 1"));
  Server none;
  EXPECT_THAT(std::string(none->Restore(folder / "none").message()),
              HasSubstr("cannot be opened"));
}

// What is behind the cut waits, and a job that begins again there does it again.
TEST_P(ServerFilesTest, CutHasTheStepsBeforeIt) {
  testing::TemporaryFolder folder;
  Reference two, five;
  for (int step = 0; step < 5; ++step) {
    if (step < 2) two.Step(step, {0, 1});
    five.Step(step, {0, 1});
  }
  {
    Server server({.together = GetParam()}, absl::Seconds(30), 1, 2);
    server.Start();
    for (int step = 0; step < 3; ++step) server.PushAll(step);
    EXPECT_EQ(server->cut(), 2u);
    ASSERT_TRUE(server->Save(folder / "two", true).ok());
    EXPECT_THAT(server.cuts(), ::testing::ElementsAre(2));
    EXPECT_EQ(server->cut(), 4u);
    EXPECT_TRUE(server.Pull(0, kB, 3).ok());  // now it is applied
    server.PushAll(3);
    server.PushAll(4);
    for (int t : {0, 1}) ASSERT_TRUE(server->Finish(t, 5).ok());
    ASSERT_TRUE(server->Save(folder / "end").ok());
    EXPECT_THAT(server.cuts(), ::testing::ElementsAre(2, 4, 5));
  }
  Server server({.together = GetParam()}, absl::Seconds(30), 1, 2);
  ASSERT_TRUE(server->Restore(folder / "two", /*whole_job=*/true).ok());
  EXPECT_EQ(server->cut(), 4u);
  EXPECT_THAT(server->taken(0).next, ::testing::ElementsAre(2, 2));
  EXPECT_EQ(*server->Join(0), 2u);
  EXPECT_EQ(*server->Join(1), 2u);
  EXPECT_EQ(*server.Pull(0, kW, 2), two.w);
  // After its end a job may go on, too.
  Server end({.together = GetParam()});
  ASSERT_TRUE(end->Restore(folder / "end", true).ok());
  EXPECT_FALSE(end->taken(0).finished);
  EXPECT_EQ(*end->Join(0), 5u);
  EXPECT_EQ(*end.Pull(0, kW, 5), five.w);
}

// Trainers that are ahead wait for the others there, and only there.
TEST(ParameterServerFilesTest, CutOfAnAsynchronousServer) {
  testing::TemporaryFolder folder;
  const ServerPlanOptions plan = {.trainers = 2, .mode = plan::ParameterServers::ASYNC};
  Floats expected(testing::kBias, 2.0f);
  {
    Server server(plan, absl::Seconds(30), 1, 2);
    server.Start();
    for (auto [t, step] : {std::pair{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}})
      for (uint32_t b : {kW, kB}) ASSERT_TRUE(server.Push(t, b, step).ok());
    for (auto [t, step] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      Floats g = Gradient(t, step, testing::kBias);
      for (size_t i = 0; i < g.size(); ++i) expected[i] = expected[i] - g[i] * 0.25f;
    }
    ASSERT_TRUE(server->Save(folder / "s", true).ok());
    EXPECT_THAT(server.cuts(), ::testing::ElementsAre(2));
    EXPECT_TRUE(server.Pull(0, kB, 3).ok());
  }
  Server server(plan);
  ASSERT_TRUE(server->Restore(folder / "s", true).ok());
  server.Join();
  EXPECT_THAT(server->taken(0).next, ::testing::ElementsAre(2, 2));
  EXPECT_EQ(*server.Pull(0, kB, 2), expected);
}

// Of what was pushed last nobody asks for a version: that is there at the end.
TEST(ParameterServerFilesTest, FinalValueHasEverything) {
  Server server({.trainers = 2, .mode = plan::ParameterServers::ASYNC});
  server.Start();
  ASSERT_TRUE(server.Push(0, kB, 0).ok());
  ASSERT_TRUE(server->Finish(0, 1).ok());
  auto last = std::async(std::launch::async, [&] {
    auto done = std::make_shared<std::promise<absl::StatusOr<Floats>>>();
    server->Pull(0, kB, runtime::ParameterClient::kFinal, [done](absl::StatusOr<SharedBytes> v) {
      Floats values(v->bytes.size() / sizeof(float));
      std::memcpy(values.data(), v->bytes.data(), v->bytes.size());
      done->set_value(values);
    });
    return done->get_future().get();
  });
  ASSERT_TRUE(server.Push(1, kB, 0).ok());
  ASSERT_TRUE(server.Push(1, kB, 1).ok());
  ASSERT_TRUE(server->Finish(1, 2).ok());
  Floats expected = *last.get(), now = *server.Pull(1, kB, 2);
  EXPECT_EQ(expected, now);
}

// Whoever waits for the final value may be the one that ends the server.
TEST(ParameterServerFilesTest, ServerEndsWhileItAnswers) {
  std::promise<void> answering;
  {
    Server server({.trainers = 1, .mode = plan::ParameterServers::ASYNC});
    server.Start();
    server->Pull(0, kB, runtime::ParameterClient::kFinal, [&](absl::StatusOr<SharedBytes> v) {
      EXPECT_TRUE(v.ok()) << v.status();
      answering.set_value();
      // So long that the server is told to end meanwhile.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    });
    ASSERT_TRUE(server.Push(0, kB, 0).ok());
    ASSERT_TRUE(server->Finish(0, 1).ok());
    answering.get_future().wait();
  }
}

}  // namespace
}  // namespace commsched
