// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message of more than 4 GiB: neither 31 nor 32 bits are enough. The sender's
// bytes are one page mapped again and again, and the receiver keeps nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "grpc/ranks/grpc_transport.h"
#include "tests/conformance/conformance.h"

namespace commsched::transport {
namespace {

constexpr size_t kBlock = size_t{64} << 20;
constexpr size_t kBlocks = 66;
constexpr size_t kBytes = kBlock * kBlocks + 8;

TEST(Large, MessageOfMoreThan4GiB) {
  const int file = memfd_create("block", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 2 * kBlock), 0);
  auto *base = static_cast<std::byte *>(
      mmap(nullptr, kBytes + kBlock, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(base, MAP_FAILED);
  for (size_t i = 0; i <= kBlocks; ++i)
    ASSERT_NE(mmap(base + i * kBlock, kBlock, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, file, i == kBlocks ? kBlock : 0),
              MAP_FAILED);
  const auto pattern = conformance::Pattern(kBlock, 1);
  std::memcpy(base, pattern.data(), kBlock);

  const auto addresses = conformance::LoopbackAddresses(2);
  auto ranks = conformance::ConnectAll(
      [&](runtime::TransportOptions options) {
        options.peers = addresses;
        return ConnectGrpc(std::move(options));
      },
      {{.rank = 0, .nodes = 2}, {.rank = 1, .nodes = 2}});
  for (auto &rank : ranks) ASSERT_TRUE(rank.ok()) << rank.status();
  size_t next = 0, wrong = 0;
  conformance::Result sent, received;
  (*ranks[1])->RecvStream(
      0, {}, kBytes, 8,
      [&](size_t offset, absl::Span<const std::byte> piece) {
        wrong += offset != next;
        next = offset + piece.size();
        while (!piece.empty() && offset < kBlock * kBlocks) {
          const size_t size =
              std::min(piece.size(), kBlock - offset % kBlock);
          wrong += std::memcmp(pattern.data() + offset % kBlock, piece.data(),
                               size) != 0;
          offset += size;
          piece.remove_prefix(size);
        }
      },
      received.done());
  (*ranks[0])->Send(1, {}, 0, absl::MakeConstSpan(base, kBytes), sent.done());
  EXPECT_TRUE(received.Wait().ok()) << received.Wait();
  EXPECT_TRUE(sent.Wait().ok()) << sent.Wait();
  EXPECT_EQ(next, kBytes);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ((*ranks[1])->bytes_received(), kBytes);
  ranks.clear();
  munmap(base, kBytes + kBlock);
  close(file);
}

}  // namespace
}  // namespace commsched::transport
