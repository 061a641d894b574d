// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank in a process of its own, for lost_peer_test: joins, says so on its
// standard output, and waits for a message that never comes.
//   grpc_test_peer RANK ADDRESS...
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "grpc/ranks/grpc_transport.h"

int main(int argc, char **argv) {
  commsched::runtime::TransportOptions options;
  options.rank = std::atoi(argv[1]);
  options.peers.assign(argv + 2, argv + argc);
  options.nodes = static_cast<int>(options.peers.size());
  auto transport = commsched::transport::ConnectGrpc(options);
  if (!transport.ok()) {
    std::fprintf(stderr, "%s\n", transport.status().ToString().c_str());
    return 1;
  }
  std::puts("joined");
  std::fflush(stdout);
  while (true) pause();
}
