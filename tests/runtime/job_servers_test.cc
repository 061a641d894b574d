// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameter servers in one process of a job, and how they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "grpc/servers/parameter_client.h"
#include "launch/job_servers.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using ::testing::HasSubstr;

class JobServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto image = runtime::PlanImage::Load(testing::ServerPlan({.trainers = 2}).Bytes());
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = *std::move(image);
  }
  // One of two processes: the second has the servers.
  absl::StatusOr<std::unique_ptr<launch::Job>> As(int rank) {
    launch::JobOptions options;
    options.rank = rank;
    options.size = 2;
    options.peers = {"unix:" + (folder_ / "0"), "unix:" + (folder_ / "1")};
    options.doors.security.token = "the token of the ranks here";
    options.doors.deadline = absl::Seconds(60);
    return launch::Job::Join(std::move(options));
  }

  testing::TemporaryFolder folder_;
  std::shared_ptr<const runtime::PlanImage> image_;
};

// A trainer that has heard nothing yet of what one of the servers has failed with hears that of the others in its process too.
TEST_F(JobServersTest, OneReasonOfAllServersOfAProcess) {
  transport::ParameterClientOptions client;
  absl::Status heard;
  std::thread trainers([&] {
    auto job = As(0);
    ASSERT_TRUE(job.ok()) << job.status();
    auto servers = launch::JobServers::Begin(job->get(), image_, /*first=*/1);
    ASSERT_TRUE(servers.ok()) << servers.status();
    client.trainers = 2;
    client.plan_digest = image_->digest();
    client.security = (*job)->doors().security;
    const auto connect = [&](int trainer, int server, absl::Duration deadline, const absl::Status &gives_up) {
      auto options = client;
      options.trainer = trainer;
      options.deadline = deadline;
      options.gives_up = gives_up;
      options.servers = (*servers)->addresses();
      options.servers[size_t(1 - server)] = "unix:" + (folder_ / "nobody");
      return transport::ConnectParameterServers(std::move(options)).status();
    };
    std::thread waits([&] { heard = connect(0, 1, absl::Seconds(60), absl::OkStatus()); });
    connect(1, 0, absl::Seconds(1), absl::AbortedError("sample 17 is broken")).IgnoreError();
    waits.join();
  });
  {
    auto job = As(1);
    ASSERT_TRUE(job.ok()) << job.status();
    auto servers = launch::JobServers::Begin(job->get(), image_, /*first=*/1);
    ASSERT_TRUE(servers.ok()) << servers.status();
    EXPECT_THAT(std::string((*servers)->Finish().message()), HasSubstr("trainer 1 gave up: sample 17 is broken"));
    servers->reset();
  }
  trainers.join();
  EXPECT_THAT(std::string(heard.message()), HasSubstr("sample 17 is broken"));
}

// All ranks hear of it, before anything of it is there.
TEST_F(JobServersTest, ServersThatDoNotFitAreRefused) {
  testing::PlanBuilder plan = testing::ServerPlan({.trainers = 2});
  for (plan::Function &function : *plan.proto().mutable_functions()) function.set_scratch_bytes(uint64_t{1} << 44);
  auto image = runtime::PlanImage::Load(plan.Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  const auto begin = [&](int rank) {
    auto job = As(rank);
    EXPECT_TRUE(job.ok()) << job.status();
    auto servers = launch::JobServers::Begin(job->get(), *image, /*first=*/1);
    EXPECT_THAT(std::string(servers.status().message()),
                ::testing::AllOf(HasSubstr("the plan needs "), HasSubstr(" bytes of memory for the 2 servers here ")));
  };
  std::thread other([&] { begin(0); });
  begin(1);
  other.join();
}

// Trainers may be waiting for what this process does next, and go when it has ended.
TEST_F(JobServersTest, WhoHasFinishedIsNotWaitedFor) {
  absl::Notification finished, ended;
  std::thread trainers([&] {
    auto job = As(0);
    ASSERT_TRUE(job.ok()) << job.status();
    auto servers = launch::JobServers::Begin(job->get(), image_, /*first=*/1);
    ASSERT_TRUE(servers.ok()) << servers.status();
    std::vector<std::unique_ptr<runtime::ParameterClient>> clients;
    for (int trainer : {0, 1}) {
      auto client = (*servers)->connector()(trainer);
      ASSERT_TRUE(client.ok()) << client.status();
      clients.push_back(*std::move(client));
    }
    for (auto &client : clients) EXPECT_TRUE(client->Finish(0).ok());
    finished.Notify();
    ended.WaitForNotification();
  });
  auto job = As(1);
  ASSERT_TRUE(job.ok()) << job.status();
  auto servers = launch::JobServers::Begin(job->get(), image_, /*first=*/1);
  ASSERT_TRUE(servers.ok()) << servers.status();
  finished.WaitForNotification();
  servers->reset();
  ended.Notify();
  trainers.join();
}

}  // namespace
}  // namespace commsched
