// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rings of three ranks in the memory of one process.
#include "mpi/rings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace commsched::transport::mpi {
namespace {

constexpr int kNodes = 3;

class RingsTest : public testing::Test {
 protected:
  RingsTest() {
    for (int rank = 0; rank < kNodes; ++rank) {
      blocks_.emplace_back(new (std::align_val_t(4096)) std::byte[Rings::BlockBytes(kNodes)]());
      rings_.push_back(std::make_unique<Rings>(rank, kNodes, blocks_.back()));
    }
    for (int rank = 0; rank < kNodes; ++rank)
      for (int peer = 0; peer < kNodes; ++peer)
        if (peer != rank) rings_[size_t(rank)]->Join(peer, blocks_[size_t(peer)]);
  }
  ~RingsTest() override {
    rings_.clear();
    for (std::byte *block : blocks_)
      operator delete[](block, std::align_val_t(4096));
  }
  Rings &of(int rank) { return *rings_[size_t(rank)]; }

  // Message `number` of a sequence that both sides can make.
  struct Made {
    Header header;
    std::vector<std::byte> payload;
  };
  static Made Make(uint32_t number, size_t largest) {
    std::minstd_rand random(number + 1);
    Made made;
    size_t size = random() % (largest + 1);
    if (number % 7 == 0) size = 0;
    if (number % 50 == 0) size = Rings::kLargest;
    made.payload = std::vector<std::byte>(size);
    for (std::byte &b : made.payload) b = std::byte(random());
    made.header.kind = kEager;
    made.header.step = number;
    made.header.payload = uint32_t(made.payload.size());
    return made;
  }
  static void Expect(const Made &made, const Rings::Message &message) {
    ASSERT_TRUE(message.sound);
    ASSERT_EQ(message.header.step, made.header.step);
    ASSERT_EQ(message.payload.size(), made.payload.size());
    ASSERT_TRUE(made.payload.empty() ||
                std::memcmp(message.payload.data(), made.payload.data(),
                            made.payload.size()) == 0);
  }

  std::vector<std::byte *> blocks_;
  std::vector<std::unique_ptr<Rings>> rings_;
};

TEST_F(RingsTest, MessagesComeInOrderFromEachPeer) {
  Rings::Message message;
  EXPECT_FALSE(of(0).Read(1, &message));
  for (uint32_t i = 1; i <= 3; ++i) {
    const Made made = Make(i, 1000);
    ASSERT_TRUE(of(1).Write(0, made.header, made.payload));
    const Made other = Make(10 + i, 1000);
    ASSERT_TRUE(of(2).Write(0, other.header, other.payload));
  }
  for (uint32_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(of(0).Read(1, &message));
    Expect(Make(i, 1000), message);
    EXPECT_EQ(of(0).More(1), i < 3);
    of(0).Take(1);
    ASSERT_TRUE(of(0).Read(2, &message));
    Expect(Make(10 + i, 1000), message);
    of(0).Take(2);
  }
  EXPECT_FALSE(of(0).Read(1, &message));
  EXPECT_FALSE(of(1).Read(0, &message));
}

TEST_F(RingsTest, IsFullUntilMessagesAreTaken) {
  const Made empty = Make(7, 0);
  uint32_t written = 0;
  while (of(0).Write(1, empty.header, {})) ASSERT_LT(++written, 100000u);
  EXPECT_GT(written, 16u);
  Rings::Message message;
  ASSERT_TRUE(of(1).Read(0, &message));
  EXPECT_FALSE(of(0).Write(1, empty.header, {}));
  of(1).Take(0);
  EXPECT_TRUE(of(0).Write(1, empty.header, {}));
  EXPECT_FALSE(of(0).Write(1, empty.header, {}));
  // Another peer has room.
  EXPECT_TRUE(of(0).Write(2, empty.header, {}));
}

TEST_F(RingsTest, TheLargestFitsWhereverTheRingStands) {
  for (uint32_t i = 0; i < 300; ++i) {
    const Made small = Make(i * 7 + 1, 5000), large = Make(i * 50, 0);
    for (const Made *made : {&small, &large}) {
      ASSERT_TRUE(of(0).Write(1, made->header, made->payload)) << i;
      Rings::Message message;
      ASSERT_TRUE(of(1).Read(0, &message));
      Expect(*made, message);
      of(1).Take(0);
    }
  }
}

TEST_F(RingsTest, OneThreadWritesWhileAnotherReads) {
  constexpr uint32_t kMessages = 5000;
  std::thread writer([&] {
    for (uint32_t i = 0; i < kMessages; ++i) {
      const Made made = Make(i, 3000);
      while (!of(0).Write(1, made.header, made.payload)) std::this_thread::yield();
    }
  });
  for (uint32_t i = 0; i < kMessages; ++i) {
    Rings::Message message;
    while (!of(1).Read(0, &message)) std::this_thread::yield();
    Expect(Make(i, 3000), message);
    of(1).Take(0);
  }
  writer.join();
}

TEST_F(RingsTest, APayloadBeyondTheLaneIsNotRead) {
  Header header;
  header.payload = 1 << 20;  // more than is there
  const std::vector<std::byte> few(8);
  ASSERT_TRUE(of(0).Write(1, header, few));
  Rings::Message message;
  ASSERT_TRUE(of(1).Read(0, &message));
  EXPECT_FALSE(message.sound);
  EXPECT_TRUE(message.payload.empty());
}

}  // namespace
}  // namespace commsched::transport::mpi
