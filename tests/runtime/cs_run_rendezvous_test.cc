// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ranks meet that know where rank 0 is.
#include "launch/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/socket.h"

namespace commsched::launch {
namespace {

using ::testing::HasSubstr;

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

// Those who are on their way when one has been found not to fit are told so too, rather than that nobody is there.
TEST(Rendezvous, WhoComesBehindARefusalHearsIt) {
  for (const bool twin : {true, false}) {
    auto meetings = Meetings(4);
    meetings.push_back(meetings[1]);
    if (!twin) meetings[1].size = 7;
    std::vector<Addresses> results(meetings.size(), absl::UnknownError(""));
    std::vector<std::thread> threads;
    std::vector<Socket> ports(meetings.size());
    const auto start = [&](size_t i) {
      threads.emplace_back([&, i] { results[i] = Meet(meetings[i], &ports[i]); });
    };
    for (size_t i : {0, 1, 4}) start(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (size_t i : {2, 3}) start(i);
    for (std::thread &thread : threads) thread.join();
    for (const Addresses &result : results)
      EXPECT_THAT(std::string(result.status().message()),
                  HasSubstr(twin ? "two processes are rank 1" : "rank 1: number of nodes must match 4, got: 7"));
  }
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

// Who connects and says nothing, or never ends his first line, holds up nobody: in turn these would take
// longer than the ranks wait. There are more than rank 0 keeps at once.
TEST(Rendezvous, MuteStrangersHoldUpNobody) {
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  auto meetings = Meetings(4);
  std::vector<Addresses> results(meetings.size(), absl::UnknownError(""));
  std::vector<Socket> ports(meetings.size());
  std::vector<std::thread> threads;
  const auto start = [&](size_t rank) {
    threads.emplace_back([&, rank] { results[rank] = Meet(meetings[rank], &ports[rank]); });
  };
  start(0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(meetings[0].port));
  std::vector<Socket> strangers;
  while (strangers.size() < 1200) {
    Socket stranger(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_GE(stranger.fd(), 0) << std::strerror(errno);
    if (connect(stranger.fd(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0) continue;
    const std::string begun(strangers.size() % 3 == 0 ? 0 : 500 * (strangers.size() % 20), 'x');
    send(stranger.fd(), begun.data(), begun.size(), MSG_NOSIGNAL);
    strangers.push_back(std::move(stranger));
  }
  for (size_t rank = 1; rank < meetings.size(); ++rank) start(rank);
  for (std::thread &thread : threads) thread.join();
  for (const Addresses &result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->size(), 4u);
  }
  // One who is missing is still said to be.
  meetings = Meetings(2);
  meetings[0].deadline = absl::Seconds(1);
  EXPECT_THAT(std::string(Meet(meetings[0], &ports[0]).status().message()), HasSubstr("rank 1 did not come"));
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

// The last attempt is mostly cut short by the deadline: what was said before it is what the error tells.
TEST(Rendezvous, WhatWasSaidIsToldNotThatNobodyAnsweredLast) {
  for (const bool closes : {false, true}) {
    Rendezvous meeting = Meetings(2)[1];
    meeting.deadline = absl::Seconds(1);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(uint16_t(meeting.port));
    Socket listener(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(bind(listener.fd(), reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0) << std::strerror(errno);
    ASSERT_EQ(listen(listener.fd(), 100), 0);
    // One visit is told something; of those after it one waits for a word until the end, or all are hung up on.
    std::thread stranger([&] {
      Socket first(accept(listener.fd(), nullptr, nullptr));
      const std::string word = "good day\n";
      send(first.fd(), word.data(), word.size(), MSG_NOSIGNAL);
      while (closes) {
        Socket next(accept(listener.fd(), nullptr, nullptr));
        if (next.fd() < 0) return;
      }
    });
    Socket port;
    const std::string error(Meet(meeting, &port).status().message());
    shutdown(listener.fd(), SHUT_RDWR);
    stranger.join();
    EXPECT_THAT(error, HasSubstr("; last error: what answers is not rank 0 of this job"));
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
