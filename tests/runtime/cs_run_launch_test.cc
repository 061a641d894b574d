// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank reads from its launcher's environment.
#include "launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace commsched::launch {
namespace {

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

// As of Open MPI 5 on a host with a long name.
TEST(Launch, JobsOfLongNamesAreApart) {
  std::set<std::string> jobs;
  for (const char *end : {"12345@1", "12346@1", "12345@2", ""}) {
    auto launched = Read({{"OMPI_COMM_WORLD_RANK", "2"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                          {"PMIX_NAMESPACE", absl::StrCat("prterun-ip-172-31-22-133.us-west-2.compute.internal-", end)}});
    ASSERT_TRUE(launched.ok() && *launched) << launched.status();
    EXPECT_LE((*launched)->job.size(), 40u);
    EXPECT_THAT((*launched)->job, ::testing::MatchesRegex("[0-9A-Za-z_]*"));
    jobs.insert((*launched)->job);
  }
  EXPECT_EQ(jobs.size(), 4u);
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

}  // namespace
}  // namespace commsched::launch
