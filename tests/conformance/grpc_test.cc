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
            return Connector(LoopbackAddresses(nodes), {});
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
                {.threads = 2, .chunk_bytes = 10000, .eager_bytes = 20000});
          }};
}

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceTest,
                         ::testing::Values(Tcp(), SocketFiles()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace commsched::conformance
