// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "grpc/ranks/grpc_transport.h"
#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

Kind::Connect Connector(std::vector<std::string> addresses,
                        transport::GrpcOptions grpc) {
  grpc.security.token = "the token of a cluster";
  return [addresses = std::move(addresses), grpc](TransportOptions options) {
    options.peers = addresses;
    options.peers.resize(std::max(options.nodes, 0), "127.0.0.1:9");
    return transport::ConnectGrpc(std::move(options), grpc);
  };
}

Kind Tcp() {
  return {"grpc", [](int nodes) {
            return Connector(LoopbackAddresses(nodes), {.shared_memory = false});
          }};
}

// Whose threads rest where nothing is under way.
Kind Seldom() {
  return {"grpc_seldom", [](int nodes) {
            return Connector(LoopbackAddresses(nodes), {.seldom = true, .shared_memory = false});
          }};
}

// Through shared memory, under connections of TCP.
Kind Shared() {
  return {"grpc_shared", [](int nodes) {
            return Connector(LoopbackAddresses(nodes), {});
          }};
}

// The least of it, which is full most of the time.
Kind SharedLittle() {
  return {"grpc_shared_little", [](int nodes) {
            return Connector(LoopbackAddresses(nodes),
                             {.eager_bytes = 20000, .shared_bytes = size_t{64} << 10});
          }};
}

// Socket files; small parts and two threads, so that more is cut up.
Kind SocketFiles() {
  return {"grpc_unix", [](int nodes) {
            static std::atomic<int> clusters{0};
            const int cluster = clusters++;
            std::vector<std::string> addresses;
            for (int rank = 0; rank < nodes; ++rank)
              addresses.push_back(absl::StrCat(
                  "unix:", std::filesystem::temp_directory_path().string(),
                  "/commsched-", getpid(), "-", cluster, "-", rank));
            return Connector(
                addresses,
                {.threads = 2,
                 .chunk_bytes = 10000,
                 .eager_bytes = 20000,
                 .shared_memory = false});
          }};
}

std::vector<Kind> All() {
  std::vector<Kind> all = {Tcp(), Seldom(), SocketFiles(), Shared(), SharedLittle()};
  for (Kind &kind : all) kind.holds_from = 0;
  return all;
}

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceTest, ::testing::ValuesIn(All()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace commsched::conformance
