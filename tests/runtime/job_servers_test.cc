// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameter servers in one process of a job, and how they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "grpc/servers/parameter_client.h"
#include "launch/job_servers.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using ::testing::HasSubstr;

// A trainer that has heard nothing yet of what one of the servers has failed with hears that of the others in its process too.
TEST(JobServersTest, OneReasonOfAllServersOfAProcess) {
  testing::TemporaryFolder folder;
  auto image = runtime::PlanImage::Load(testing::ServerPlan({.trainers = 2}).Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  const auto as = [&](int rank) {
    launch::JobOptions options;
    options.rank = rank;
    options.size = 2;
    options.peers = {"unix:" + (folder / "0"), "unix:" + (folder / "1")};
    options.doors.security.token = "the token of the ranks here";
    options.doors.deadline = absl::Seconds(60);
    return launch::Job::Join(std::move(options));
  };
  std::vector<std::string> addresses;
  transport::ParameterClientOptions client;
  absl::Status heard;
  std::thread trainers([&] {
    auto job = as(0);
    ASSERT_TRUE(job.ok()) << job.status();
    auto servers = launch::JobServers::Begin(job->get(), *image, /*first=*/1);
    ASSERT_TRUE(servers.ok()) << servers.status();
    client.trainers = 2;
    client.plan_digest = (*image)->digest();
    client.security = (*job)->doors().security;
    const auto connect = [&](int trainer, int server, absl::Duration deadline, const absl::Status &gives_up) {
      auto options = client;
      options.trainer = trainer;
      options.deadline = deadline;
      options.gives_up = gives_up;
      options.servers = (*servers)->addresses();
      options.servers[size_t(1 - server)] = "unix:" + (folder / "nobody");
      return transport::ConnectParameterServers(std::move(options)).status();
    };
    std::thread waits([&] { heard = connect(0, 1, absl::Seconds(60), absl::OkStatus()); });
    connect(1, 0, absl::Seconds(1), absl::AbortedError("sample 17 is broken")).IgnoreError();
    waits.join();
  });
  {
    auto job = as(1);
    ASSERT_TRUE(job.ok()) << job.status();
    auto servers = launch::JobServers::Begin(job->get(), *image, /*first=*/1);
    ASSERT_TRUE(servers.ok()) << servers.status();
    EXPECT_THAT(std::string((*servers)->Finish().message()), HasSubstr("trainer 1 gave up: sample 17 is broken"));
    servers->reset();
  }
  trainers.join();
  EXPECT_THAT(std::string(heard.message()), HasSubstr("sample 17 is broken"));
}

}  // namespace
}  // namespace commsched
