// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank reads from its launcher's environment, and how ranks meet.
#include "launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "launch/rendezvous.h"
#include "launch/socket.h"

namespace commsched::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<Launched>> Read(const Variables &variables) {
  return ReadLaunch([&](const char *name) -> const char * {
    auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(Launch, NothingIsLaunched) {
  for (const Variables &variables :
       {Variables{},
        // A number alone may mean anything.
        Variables{{"RANK", "3"}}, Variables{{"PMI_RANK", "1"}},
        Variables{{"RANK", ""}, {"WORLD_SIZE", "1"}},
        // An allocation, but no step: the batch script.
        Variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
        // A job of one process.
        Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}}) {
    auto launched = Read(variables);
    ASSERT_TRUE(launched.ok()) << launched.status();
    EXPECT_FALSE(launched->has_value());
  }
}

TEST(Launch, OpenMpi) {
  const Variables variables = {{"OMPI_COMM_WORLD_RANK", "2"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                               {"PMIX_NAMESPACE", "12/34"},
                               {"PMIX_RANK", "2"},
                               // Of mpirun's daemon, in a Slurm job.
                               {"SLURM_STEP_ID", "0"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_STEP_NUM_TASKS", "1"}};
  auto launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->rank, 2);
  EXPECT_EQ((*launched)->size, 4);
  EXPECT_TRUE((*launched)->of_mpi);
  EXPECT_TRUE((*launched)->one_host);
  EXPECT_EQ((*launched)->job, "12_34");  // fit for a file's name
}

TEST(Launch, Pmi) {
  auto launched = Read({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->rank, 1);
  EXPECT_EQ((*launched)->size, 3);
  EXPECT_TRUE((*launched)->of_mpi);
  EXPECT_FALSE((*launched)->one_host);
}

TEST(Launch, Slurm) {
  auto launched = Read({{"SLURM_STEP_ID", "0"},
                        {"SLURM_PROCID", "5"},
                        {"SLURM_STEP_NUM_TASKS", "8"},
                        {"SLURM_STEP_NUM_NODES", "4"},
                        {"SLURM_STEP_NODELIST", "node[07-09,12]"},
                        {"SLURM_JOB_ID", "123456"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->rank, 5);
  EXPECT_EQ((*launched)->size, 8);
  EXPECT_FALSE((*launched)->of_mpi);
  EXPECT_FALSE((*launched)->one_host);
  EXPECT_EQ((*launched)->master, "node07");
  EXPECT_EQ((*launched)->port, 29400 + 456);
}

TEST(Launch, Frameworks) {
  auto launched = Read({{"RANK", "1"},
                        {"WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "job-0.job"},
                        {"MASTER_PORT", "2345"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->rank, 1);
  EXPECT_EQ((*launched)->size, 2);
  EXPECT_FALSE((*launched)->of_mpi);
  EXPECT_EQ((*launched)->master, "job-0.job");
  EXPECT_EQ((*launched)->port, 2345);
  // Where torchrun's own store has MASTER_PORT.
  launched = Read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "2345"}, {"COMMSCHED_PORT", "77"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->port, 77);
  EXPECT_EQ((*launched)->epoch, 0);
  launched = Read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RESTART_COUNT", "3"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->epoch, 3);
  launched = Read({{"JOB_COMPLETION_INDEX", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->rank, 1);
  EXPECT_EQ((*launched)->port, 29400);
}

TEST(Launch, Torchrun) {
  Variables variables = {{"RANK", "3"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                         {"TORCHELASTIC_RESTART_COUNT", "2"},
                         {"TORCHELASTIC_RUN_ID", "none"}};
  auto launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->local_rank, 1);
  EXPECT_TRUE((*launched)->one_host);
  EXPECT_EQ((*launched)->job, "torchrun_29500_2_none");
  // Its store is there.
  EXPECT_EQ((*launched)->port, 30500);
  variables["MASTER_PORT"] = "65000";
  launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->port, 64000);
  variables["COMMSCHED_PORT"] = "65000";
  variables["LOCAL_WORLD_SIZE"] = "2";
  launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->port, 65000);
  EXPECT_FALSE((*launched)->one_host);
  variables["LOCAL_RANK"] = "-1";
  EXPECT_FALSE(Read(variables).ok());
}

// By another launcher, once on each node: its variables are about the torchruns.
TEST(Launch, TorchrunsOfAnotherLauncher) {
  const Variables torchrun = {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "4"}, {"GROUP_RANK", "0"}, {"GROUP_WORLD_SIZE", "2"}, {"MASTER_ADDR", "host0"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "0"}, {"TORCHELASTIC_RUN_ID", "run"}};
  const Variables others[] = {
      {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_LOCALID", "0"}, {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_JOB_ID", "77"}, {"PMIX_RANK", "1"}},
      {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"PMIX_NAMESPACE", "12/34"}, {"PMIX_RANK", "1"}},
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}};
  for (const Variables &other : others) {
    Variables variables = torchrun;
    variables.insert(other.begin(), other.end());
    auto launched = Read(variables);
    ASSERT_TRUE(launched.ok() && *launched) << launched.status();
    EXPECT_EQ((*launched)->rank, 3);
    EXPECT_EQ((*launched)->size, 8);
    EXPECT_EQ((*launched)->local_rank, 3);
    EXPECT_FALSE((*launched)->of_mpi);
    EXPECT_FALSE((*launched)->one_host);
    EXPECT_EQ((*launched)->job, "torchrun_29500_0_run");
    // One of each: still of torchrun, whose ranks may have another order.
    variables["WORLD_SIZE"] = variables["GROUP_WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = "2";
    variables["RANK"] = "1";
    launched = Read(variables);
    ASSERT_TRUE(launched.ok() && *launched) << launched.status();
    EXPECT_EQ((*launched)->rank, 1);
    EXPECT_FALSE((*launched)->of_mpi);
    EXPECT_TRUE((*launched)->one_host);
    // Of another number of processes they are not.
    variables["WORLD_SIZE"] = "8";
    variables["GROUP_WORLD_SIZE"] = "4";
    EXPECT_FALSE(Read(variables).ok());
  }
}

TEST(Launch, AddressesInBrackets) {
  auto launched = Read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "[fe80::1]"}, {"MASTER_PORT", "2345"}});
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->master, "fe80::1");
}

TEST(Launch, Paddle) {
  Variables variables = {{"PADDLE_TRAINER_ID", "1"},
                         {"PADDLE_TRAINERS_NUM", "2"},
                         {"PADDLE_LOCAL_RANK", "1"},
                         {"PADDLE_MASTER", "10.0.0.1:4444"},
                         {"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:2345,10.0.0.1:2346"}};
  auto launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->rank, 1);
  EXPECT_EQ((*launched)->size, 2);
  EXPECT_EQ((*launched)->local_rank, 1);
  EXPECT_TRUE((*launched)->one_host);
  EXPECT_EQ((*launched)->job, "paddle_2345_10_0_0_1");
  EXPECT_TRUE((*launched)->master.empty());
  variables["PADDLE_TRAINER_ENDPOINTS"] = "10.0.0.1:2345,10.0.0.2:2346";
  launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_FALSE((*launched)->one_host);
  EXPECT_EQ((*launched)->master, "10.0.0.1");
  EXPECT_EQ((*launched)->port, 2345);
  variables["COMMSCHED_PORT"] = "77";
  launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->port, 77);
  variables["MASTER_ADDR"] = "host0";
  launched = Read(variables);
  ASSERT_TRUE(launched.ok() && *launched) << launched.status();
  EXPECT_EQ((*launched)->master, "host0");
}

TEST(Launch, WhatContradictsItselfIsRefused) {
  const std::pair<Variables, std::vector<std::string>> cases[] = {
      {{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}},
       {"RANK and WORLD_SIZE must match PMI_RANK and PMI_SIZE", "rank 2 of 4",
        "got: rank 1 of 4"}},
      {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"RANK", "0"}, {"WORLD_SIZE", "8"}},
       {"must match OMPI_COMM_WORLD_RANK", "got: rank 0 of 8"}},
      {{{"RANK", "4"}, {"WORLD_SIZE", "4"}}, {"RANK must be below WORLD_SIZE 4"}},
      {{{"RANK", "one"}, {"WORLD_SIZE", "4"}}, {"RANK must be a number", "one"}},
      {{{"RANK", ""}, {"WORLD_SIZE", "2"}}, {"WORLD_SIZE is 2", "none says which rank", "JOB_COMPLETION_INDEX"}},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, {"WORLD_SIZE must be a number", "0"}},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}},
       {"MASTER_PORT must be a number of 1 to 65535", "70000"}},
      {{{"PADDLE_TRAINER_ID", "0"}, {"PADDLE_TRAINERS_NUM", "2"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}},
       {"PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM must match RANK and WORLD_SIZE"}},
      {{{"PADDLE_TRAINER_ID", "0"}, {"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_TRAINER_ENDPOINTS", "a:1,b"}},
       {"PADDLE_TRAINER_ENDPOINTS must be a list of host:port", "a:1,b"}},
      {{{"PADDLE_TRAINER_ID", "0"}, {"PADDLE_TRAINERS_NUM", "2"}, {"PADDLE_TRAINER_ENDPOINTS", "a:1"}},
       {"PADDLE_TRAINER_ENDPOINTS must have 2 addresses", "got: 1"}},
      {{{"TRAINING_ROLE", "PSERVER"}, {"PADDLE_TRAINERS_NUM", "2"}}, {"TRAINING_ROLE must be TRAINER", "PSERVER"}},
      {{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NODELIST", "node["}},
       {"SLURM_STEP_NODELIST must be a list of hosts", "node["}},
  };
  for (const auto &[variables, words] : cases) {
    auto launched = Read(variables);
    EXPECT_EQ(launched.status().code(), absl::StatusCode::kInvalidArgument);
    for (const std::string &word : words)
      EXPECT_THAT(std::string(launched.status().message()), HasSubstr(word));
  }
}

TEST(Launch, FirstHosts) {
  for (auto [list, first] : {std::pair("a", "a"), {"a,b", "a"}, {"n[3-5]", "n3"}, {"n[3,5]", "n3"}, {"n[03]-x,b", "n03-x"}, {"rack1-[1-2],b[1-4]", "rack1-1"}}) {
    auto host = FirstHost(list);
    ASSERT_TRUE(host.ok()) << list << ": " << host.status();
    EXPECT_EQ(*host, first);
  }
  for (const char *bad : {"", ",a", "n[", "n[]", "n[1"})
    EXPECT_FALSE(FirstHost(bad).ok()) << bad;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), size), 0);
  getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

using Addresses = absl::StatusOr<std::vector<std::string>>;

std::vector<Addresses> MeetAll(std::vector<Rendezvous> meetings) {
  std::vector<Addresses> results(meetings.size(), absl::UnknownError(""));
  std::vector<std::thread> threads;
  std::vector<Socket> ports(meetings.size());
  for (size_t i = 0; i < meetings.size(); ++i)
    threads.emplace_back([&, i] { results[i] = Meet(meetings[i], &ports[i]); });
  for (std::thread &thread : threads) thread.join();
  return results;
}

std::vector<Rendezvous> Meetings(int size) {
  std::vector<Rendezvous> meetings;
  const int port = FreePort();
  for (int rank = 0; rank < size; ++rank) {
    Rendezvous meeting;
    meeting.rank = rank;
    meeting.size = size;
    meeting.host = "127.0.0.1";
    meeting.port = port;
    meeting.deadline = absl::Seconds(60);
    meeting.token = "the token of a job";
    meetings.push_back(meeting);
  }
  return meetings;
}

TEST(Rendezvous, AllGetOneList) {
  auto results = MeetAll(Meetings(5));
  ASSERT_TRUE(results[0].ok()) << results[0].status();
  EXPECT_EQ(results[0]->size(), 5u);
  for (const Addresses &result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, *results[0]);
  }
  for (const std::string &address : *results[0])
    EXPECT_THAT(address, HasSubstr("127.0.0.1:"));
}

TEST(Rendezvous, WhoIsMissingIsNamed) {
  auto meetings = Meetings(4);
  meetings.erase(meetings.begin() + 2);
  for (Rendezvous &meeting : meetings) meeting.deadline = absl::Seconds(1);
  for (const Addresses &result : MeetAll(meetings)) {
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(std::string(result.status().message()),
                ::testing::AnyOf(HasSubstr("rank 2 did not come"),
                                 HasSubstr("rank 0 was not met")));
  }
}

TEST(Rendezvous, TwoOfOneRankAreRefused) {
  auto meetings = Meetings(3);
  meetings[2].rank = 1;
  for (const Addresses &result : MeetAll(meetings))
    EXPECT_THAT(std::string(result.status().message()),
                HasSubstr("two processes are rank 1"));
}

// A rank that is left of the time before is told so, and nobody waits for it; one that is of
// a later time waits until its own rank 0 is there.
TEST(Rendezvous, MembershipsDoNotMeet) {
  auto meetings = Meetings(3);
  for (Rendezvous &meeting : meetings) meeting.epoch = 4;
  Rendezvous left = meetings[2];
  left.epoch = 3;
  left.deadline = absl::Seconds(5);
  meetings.push_back(left);
  auto results = MeetAll(meetings);
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(results[size_t(rank)].ok()) << results[size_t(rank)].status();
  // It may have come too late to hear anything but that nobody is there.
  EXPECT_FALSE(results[3].ok());

  meetings = Meetings(2);
  meetings[1].epoch = 1;
  meetings[1].deadline = absl::Seconds(2);
  results = MeetAll(meetings);
  EXPECT_THAT(std::string(results[0].status().message()),
              HasSubstr("rank 1: membership epoch must match 0, got: 1"));
  EXPECT_EQ(results[1].status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(Rendezvous, StrangersAreNobody) {
  auto meetings = Meetings(3);
  Rendezvous stranger = meetings[1];
  stranger.token = "the token of another";
  stranger.deadline = absl::Seconds(1);
  meetings.push_back(stranger);
  auto results = MeetAll(meetings);
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(results[rank].ok()) << results[rank].status();
    EXPECT_EQ(results[rank]->size(), 3u);
  }
  EXPECT_FALSE(results[3].ok());
  // Nor is one who waits in the place of rank 0.
  meetings = Meetings(2);
  meetings[0].token = "the token of another";
  for (Rendezvous &meeting : meetings) meeting.deadline = absl::Seconds(1);
  results = MeetAll(meetings);
  EXPECT_THAT(std::string(results[0].status().message()),
              HasSubstr("rank 1 did not come"));
  EXPECT_THAT(std::string(results[1].status().message()),
              HasSubstr("the token must match that of rank 0"));
}

// Of so many ports that are free "just now" some would be the same.
TEST(Rendezvous, HeldPortIsNobodyElses) {
  for (const char *host : {"127.0.0.1", ""}) {
    std::vector<Socket> held;
    std::set<int> ports;
    for (int i = 0; i < 400; ++i) {
      auto port = HoldPort(host);
      ASSERT_TRUE(port.ok()) << port.status();
      held.push_back(*std::move(port));
      EXPECT_TRUE(ports.insert(PortOf(held.back())).second);
    }
    for (int i = 0; i < 400; ++i) EXPECT_EQ(ports.count(FreePort()), 0);
    // Who is told of one may listen on it, once.
    for (int i = 0; i < 2; ++i) {
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(uint16_t(PortOf(held[0])));
      held.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
      const int on = 1;
      setsockopt(held.back().fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      const bool listens =
          bind(held.back().fd(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0 &&
          listen(held.back().fd(), 1) == 0;
      EXPECT_EQ(listens, i == 0);
    }
  }
}

TEST(Rendezvous, OtherHostsNeedPermission) {
  Rendezvous meeting = Meetings(1)[0];
  meeting.host = "192.0.2.1";
  Socket port;
  Addresses result = Meet(meeting, &port);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("need --tls-ca"));
}

}  // namespace
}  // namespace commsched::launch
