// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank in a process of its own: joins, says so on its standard output, and waits for a
// message that never comes. With COMMSCHED_TEST_SENDS it sends messages of 100,000 bytes to
// rank 0, of step 1, 2, ..., as fast as they go, until it is killed.
//   grpc_test_peer RANK ADDRESS...
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

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
  const std::vector<std::byte> message(100'000);
  for (uint64_t step = 1; std::getenv("COMMSCHED_TEST_SENDS") != nullptr; ++step) {
    std::promise<bool> sent;
    (*transport)->Send(0, {.step = step}, 0, message, [&](absl::Status status) { sent.set_value(status.ok()); });
    if (!sent.get_future().get()) break;
  }
  while (true) pause();
}
