// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many ranks around a ring: each has the two connections that it needs.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/ranks/grpc_transport.h"
#include "tests/conformance/conformance.h"

namespace commsched::transport {
namespace {

using conformance::ConnectAll;
using conformance::Pattern;
using conformance::Result;
using runtime::Transport;
using runtime::TransportOptions;

// A sanitizer makes the meeting of so many in one process a matter of minutes.
#ifdef __SANITIZE_ADDRESS__
constexpr int kRanks = 100;
#else
constexpr int kRanks = 1000;
#endif

// Connections that were accepted at socket files that begin with `path`.
int Accepted(const std::string &path) {
  std::ifstream sockets("/proc/net/unix");
  int accepted = 0;
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::string address, references, protocol, flags, type, state, node, name;
    words >> address >> references >> protocol >> flags >> type >> state >> node >> name;
    accepted += state == "03" && absl::StartsWith(name, path);
  }
  return accepted;
}

TEST(GrpcRing, AThousandRanksHaveTwoConnectionsEach) {
  const int nodes = kRanks;
  // Of files, some ten for each rank.
  rlimit files;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, std::min<rlim_t>(files.rlim_max, 20'000));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  const std::string folder =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/commsched-ring-", getpid());
  std::filesystem::create_directory(folder);
  std::vector<std::string> addresses;
  for (int r = 0; r < nodes; ++r) addresses.push_back(absl::StrCat("unix:", folder, "/", r));
  std::vector<TransportOptions> options(static_cast<size_t>(nodes));
  for (int r = 0; r < nodes; ++r) {
    TransportOptions &own = options[size_t(r)];
    own.rank = r;
    own.nodes = nodes;
    own.peers = addresses;
    own.partners = {{(r + 1) % nodes, (r + nodes - 1) % nodes}};
    own.connect_deadline = absl::Seconds(120);
  }
  GrpcOptions grpc;
  grpc.threads = 1;
  grpc.security.token = "the token of a ring";
  std::vector<std::unique_ptr<Transport>> ranks;
  for (auto &connected : ConnectAll(
           [&](TransportOptions own) { return ConnectGrpc(std::move(own), grpc); }, options)) {
    ASSERT_TRUE(connected.ok()) << connected.status();
    ranks.push_back(*std::move(connected));
  }
  EXPECT_EQ(Accepted(folder), nodes);
  const std::vector<std::byte> message = Pattern(10'000, 1);
  std::vector<std::vector<std::byte>> got(ranks.size(), std::vector<std::byte>(message.size()));
  std::vector<Result> results(2 * ranks.size());
  for (int r = 0; r < nodes; ++r) {
    ranks[size_t(r)]->Recv((r + nodes - 1) % nodes, {.step = 1}, absl::MakeSpan(got[size_t(r)]),
                           results[size_t(2 * r)].done());
    ranks[size_t(r)]->Send((r + 1) % nodes, {.step = 1}, 0, message,
                           results[size_t(2 * r + 1)].done());
  }
  for (const Result &result : results) EXPECT_TRUE(result.Wait().ok()) << result.Wait();
  for (const auto &bytes : got) EXPECT_EQ(bytes, message);
  EXPECT_EQ(Accepted(folder), nodes);
  std::vector<std::thread> closing;
  for (auto &rank : ranks) closing.emplace_back([&rank] { rank.reset(); });
  for (std::thread &thread : closing) thread.join();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace commsched::transport
