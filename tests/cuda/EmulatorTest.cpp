// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/Emulator.h"

#include <gtest/gtest.h>

#include <vector>

namespace commsched::cudatest {
namespace {

template <typename F>
F function(const char *name) {
  return reinterpret_cast<F>(deviceFunctions().at(name));
}
int32_t thread() { return function<int32_t (*)()>("cs_thread")(); }
int32_t block() { return function<int32_t (*)()>("cs_block")(); }
void barrier() { function<void (*)()>("cs_barrier")(); }
int32_t shuffle(int32_t v, int32_t d) { return function<int32_t (*)(int32_t, int32_t)>("cs_shuffle_down_32")(v, d); }
void store(int32_t i, int32_t v) { function<void (*)(int32_t, int32_t)>("cs_shared_store_32")(i, v); }
int32_t load(int32_t i) { return function<int32_t (*)(int32_t)>("cs_shared_load_32")(i); }

TEST(Emulator, RunsEveryThreadOnceInOrdersThatSeedsGive) {
  std::vector<std::vector<int>> orders;
  for (uint64_t seed : {1, 2}) {
    std::vector<int> order, sorted;
    EXPECT_EQ(emulate({5, 64, 0}, [&] { order.push_back(block() * 64 + thread()); }, seed), "");
    sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 320; ++i)
      EXPECT_EQ(sorted[i], i);
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(Emulator, ShufflesWithinAWarp) {
  std::vector<int> found(64);
  auto kernel = [&] {
    int own = thread();
    found[own] = shuffle(own * 10, 4);
  };
  EXPECT_EQ(emulate({1, 64, 0}, kernel, 3), "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], (i % 32 + 4 < 32 ? i + 4 : i) * 10);
}

TEST(Emulator, TellsAllLanesOfAWarp) {
  auto any = function<int32_t (*)(int32_t)>("cs_any"), first = function<int32_t (*)(int32_t)>("cs_first_32");
  std::vector<int> together(64), ofFirst(64);
  auto kernel = [&] {
    int own = thread();
    together[own] = any(own == 5 ? 8 : own == 40 ? 1
                                   : own == 41   ? 2
                                                 : 0);
    ofFirst[own] = first(own * 10);
  };
  EXPECT_EQ(emulate({1, 64, 0}, kernel, 3), "");
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(together[i], i < 32 ? 8 : 3);
    EXPECT_EQ(ofFirst[i], i < 32 ? 0 : 320);
  }
}

TEST(Emulator, SharedWordsNeedBarriers) {
  auto reverse = [](bool synchronised) {
    return [=] {
      int own = thread();
      store(own, own);
      if (synchronised)
        barrier();
      if (load(63 - own) != 63 - own)
        store(1000, 0);
    };
  };
  EXPECT_EQ(emulate({2, 64, 256}, reverse(true), 1), "");
  EXPECT_NE(emulate({2, 64, 256}, reverse(false), 1), "");
}

TEST(Emulator, FindsWhatIsReadUnwrittenAndWhatIsOutside) {
  EXPECT_NE(emulate({1, 32, 128}, [] { (void)load(3); }, 1).find("nobody wrote"), std::string::npos);
  EXPECT_NE(emulate({1, 32, 128}, [] { store(32, 1); }, 1).find("no word 32"), std::string::npos);
}

TEST(Emulator, FindsThreadsThatDoNotCome) {
  auto some = [] {
    if (thread() < 40)
      barrier();
  };
  EXPECT_NE(emulate({1, 64, 0}, some, 1).find("do not come"), std::string::npos);
  auto lanes = [] {
    if (thread() != 7)
      (void)shuffle(1, 1);
  };
  EXPECT_NE(emulate({1, 32, 0}, lanes, 1).find("do not come"), std::string::npos);
}

} // namespace
} // namespace commsched::cudatest
