// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TESTS_RUNTIME_LANES_PAIR_H
#define COMMSCHED_TESTS_RUNTIME_LANES_PAIR_H

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "runtime/replanning/transport_lanes.h"
#include "runtime/transport/in_process_transport.h"

namespace commsched::testing {

// Two ranks of one process, with lanes.
struct Pair {
  Pair() {
    auto hub = runtime::MakeInProcessHub(2);
    std::vector<std::thread> threads;
    for (int r = 0; r < 2; ++r)
      threads.emplace_back([this, hub, r] {
        lanes[r] = std::make_shared<runtime::TransportLanes>();
        runtime::TransportOptions options;
        options.rank = r;
        options.nodes = 2;
        options.on_peer_failure = lanes[r]->FailureHandler();
        auto transport = runtime::ConnectInProcess(hub, options);
        ASSERT_TRUE(transport.ok());
        lanes[r]->Attach(*std::move(transport));
      });
    for (auto &t : threads) t.join();
  }
  std::shared_ptr<runtime::TransportLanes> lanes[2];
};

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_LANES_PAIR_H
