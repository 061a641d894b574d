// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiters: everyone whose condition has become true goes on, and nobody else is woken.
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {
namespace {

// Threads wait for random numbers that others count up to, some of them with a deadline
// that never comes: a wake that is lost hangs here.
TEST(WaitersTest, WhoeverMayGoOnIsWoken) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Mutex mu;
    Waiters waiters;
    int count = 0;
    constexpr int kMost = 200;
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, seed = random()] {
        std::mt19937 mine(seed);
        int last = 0;
        while (last < kMost) {
          const int next = std::min<int>(kMost, last + 1 + int(mine() % 20));
          const auto deadline = mine() % 2 == 0 ? Clock::time_point::max() : Clock::now() + std::chrono::hours(1);
          MutexLock lock(&mu);
          EXPECT_TRUE(waiters.Await(&mu, [&] { return count >= next; }, deadline));
          EXPECT_GE(count, next);
          last = next;
        }
      });
    for (int i = 0; i < kMost; ++i) {
      if (random() % 4 == 0) std::this_thread::yield();
      MutexLock lock(&mu);
      ++count;
      waiters.Changed();
    }
    for (std::thread &thread : threads) thread.join();
  }
}

// Conditions are looked at by who changes something; one that is false stays there.
TEST(WaitersTest, NobodyElseIsWoken) {
  Mutex mu;
  Waiters waiters;
  bool over = false;
  int looks = 0;  // by the thread that waits
  std::thread waiting([&] {
    const auto self = std::this_thread::get_id();
    MutexLock lock(&mu);
    waiters.Await(&mu, [&] {
      if (std::this_thread::get_id() == self) ++looks;
      return over;
    });
  });
  const auto change = [&](bool last) {
    MutexLock lock(&mu);
    over = last;
    waiters.Changed();
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int i = 0; i < 1000; ++i) {
    change(false);
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  {
    // Once or twice as it begins to wait; a condition variable wakes without cause at times.
    MutexLock lock(&mu);
    EXPECT_LE(looks, 10);
  }
  change(true);
  waiting.join();
}

TEST(WaitersTest, TheDeadlineComes) {
  Mutex mu;
  Waiters waiters;
  MutexLock lock(&mu);
  EXPECT_FALSE(waiters.Await(&mu, [] { return false; }, Clock::now() + std::chrono::milliseconds(5)));
  EXPECT_TRUE(waiters.Await(&mu, [] { return true; }, Clock::now()));
  waiters.Changed();  // nobody is left there
}

}  // namespace
}  // namespace commsched::runtime
