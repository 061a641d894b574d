// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/stop_point.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/session/connected_stop.h"
#include "runtime/transport/in_process_transport.h"

namespace commsched::runtime {
namespace {

// Ranks that begin steps as fast as they can, but each only so far ahead of the last
// one; `ask(rank, step)` says who asks when; each calls `end(rank)` at once when it stops. Returns the steps of each, of one that
// does not stop kMost.
template <typename Ask>
std::vector<uint64_t> StepsOf(const std::vector<StopPoint *> &ranks, Ask ask, const std::function<void(size_t)> &end = nullptr) {
  constexpr uint64_t kAhead = 6, kMost = 100'000;
  std::vector<std::atomic<uint64_t>> begun(ranks.size());
  std::atomic<bool> over{false};  // one has stopped: nobody waits for it, whatever it has done
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] {
      while (true) {
        const uint64_t step = begun[r];
        ask(r, step);
        if (step == kMost || !ranks[r]->Begin(step)) break;
        begun[r] = step + 1;
        for (auto &other : begun)
          while (other + kAhead < step && !over) std::this_thread::yield();
      }
      over = true;
      if (end) end(r);
    });
  for (std::thread &thread : threads) thread.join();
  return {begun.begin(), begun.end()};
}

void ExpectSame(const std::vector<uint64_t> &steps, uint64_t least) {
  for (uint64_t step : steps) {
    EXPECT_EQ(step, steps[0]);
    EXPECT_GE(step, least);
  }
}

TEST(StopPointTest, ProcessesThatShareMemoryStopAfterTheSameStep) {
  for (int run = 0; run < 20; ++run) {
    const int file = SharedStop::MakeFile();
    ASSERT_GE(file, 0);
    std::vector<std::unique_ptr<SharedStop>> stops;
    std::vector<StopPoint *> ranks;
    for (int r = 0; r < 4; ++r) {
      stops.push_back(SharedStop::Open(file));
      ASSERT_NE(stops.back(), nullptr);
      ranks.push_back(stops.back().get());
    }
    close(file);
    ExpectSame(StepsOf(ranks,
                       [&](size_t r, uint64_t step) {
                         if (r == 2 && step == uint64_t(run)) stops[r]->Request(15);
                       }),
               uint64_t(run));
    EXPECT_EQ(stops[0]->reason(), 15);
  }
}

class ConnectedStopTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ConnectedStopTest, ::testing::Values(1, 2, 5, 8));

TEST_P(ConnectedStopTest, AllStopAfterTheSameStepWhoeverAsks) {
  const int n = GetParam();
  for (int run = 0; run < 400; ++run) {
    auto hub = MakeInProcessHub(n);
    std::vector<std::unique_ptr<Transport>> transports(static_cast<size_t>(n));
    std::vector<std::thread> connecting;
    for (int r = 0; r < n; ++r)
      connecting.emplace_back([&, r] {
        TransportOptions options;
        options.rank = r;
        options.nodes = n;
        options.partners.emplace();  // none but those that it needs itself
        ConnectedStop::Prepare(&options);
        auto made = ConnectInProcess(hub, std::move(options));
        ASSERT_TRUE(made.ok()) << made.status();
        transports[size_t(r)] = *std::move(made);
      });
    for (std::thread &thread : connecting) thread.join();
    std::vector<std::unique_ptr<ConnectedStop>> stops;
    std::vector<StopPoint *> ranks;
    for (auto &transport : transports) {
      stops.push_back(std::make_unique<ConnectedStop>());
      stops.back()->Attach(transport.get());
      ranks.push_back(stops.back().get());
    }
    ExpectSame(StepsOf(ranks, [&](size_t r, uint64_t step) {
                         // One of them, or all at once.
                         if (step == uint64_t(run % 20) &&
                             (run % 3 == 2 || r == size_t(run) % size_t(n)))
                           stops[r]->Request(2); },
                       // What others are to hear of it is sent all the same.
                       [&](size_t r) {
                         EXPECT_EQ(stops[r]->reason(), 2);
                         stops[r]->Detach();
                         transports[r]->Close(); }),
               uint64_t(run % 20));
  }
}

TEST(StopPointTest, RankThatTalksToNobodyStopsByItself) {
  ConnectedStop stop;
  EXPECT_TRUE(stop.Begin(0));
  stop.Request(15);
  EXPECT_FALSE(stop.Begin(1));
  LocalStop local;
  EXPECT_TRUE(local.Begin(0));
  local.Request(2);
  local.Request(15);
  EXPECT_FALSE(local.Begin(1));
  EXPECT_EQ(local.reason(), 2);
}

// Of a peer that has gone nothing is awaited. It has begun all steps, so the others do too.
TEST(StopPointTest, WhenOneHasEndedNobodyStopsEarly) {
  auto hub = MakeInProcessHub(2);
  std::unique_ptr<Transport> transports[2];
  std::vector<std::thread> connecting;
  for (int r : {0, 1})
    connecting.emplace_back([&, r] {
      TransportOptions options;
      options.rank = r;
      options.nodes = 2;
      options.on_peer_failure = [](int, const absl::Status &why) { ADD_FAILURE() << why; };
      ConnectedStop::Prepare(&options);
      transports[r] = *ConnectInProcess(hub, std::move(options));
    });
  for (std::thread &thread : connecting) thread.join();
  ConnectedStop zero, one;
  zero.Attach(transports[0].get());
  one.Attach(transports[1].get());
  EXPECT_TRUE(zero.Begin(0));
  one.Detach();
  transports[1]->Close();
  zero.Request(15);
  EXPECT_TRUE(zero.Begin(1));
  zero.Detach();
}

}  // namespace
}  // namespace commsched::runtime
