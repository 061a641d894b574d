// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/rings.h"

#include <atomic>
#include <cstring>

namespace commsched::transport::mpi {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kMessages = 128;
constexpr size_t kPayload = 2 * Rings::kLargest;

}  // namespace

struct alignas(kLine) Rings::Descriptor {
  std::atomic<uint64_t> number;  // of the message, from 1 on
  uint64_t offset;               // of the payload
  Header header;
};

struct alignas(kLine) Rings::Lane {
  // Messages of the other's lane that this side has taken.
  std::atomic<uint64_t> taken;
  alignas(kLine) Descriptor messages[kMessages];
  alignas(kLine) std::byte payload[kPayload];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

size_t Rings::BlockBytes(int nodes) { return size_t(nodes) * sizeof(Lane); }

Rings::Rings(int rank, int nodes, std::byte *own)
    : rank_(rank), peers_(size_t(nodes)) {
  for (size_t peer = 0; peer < peers_.size(); ++peer)
    peers_[peer].mine = reinterpret_cast<Lane *>(own) + peer;
}

void Rings::Join(int with, const std::byte *block) {
  Peer &peer = peers_[size_t(with)];
  peer.theirs = reinterpret_cast<const Lane *>(block) + rank_;
  peer.ends.resize(kMessages);
}

bool Rings::Write(int to, const Header &header,
                  absl::Span<const std::byte> payload) {
  Peer &peer = peers_[size_t(to)];
  const size_t size = (payload.size() + kLine - 1) / kLine * kLine;
  uint64_t begin = 0;
  const auto fits = [&] {
    begin = peer.head;
    // In one piece.
    if (begin % kPayload + size > kPayload)
      begin = (begin / kPayload + 1) * kPayload;
    return peer.written - peer.freed < kMessages &&
           begin + size - peer.tail <= kPayload;
  };
  if (!fits()) {
    // The peer's count is read as seldom as can be: it writes the line.
    const uint64_t taken = peer.theirs->taken.load(std::memory_order_acquire);
    if (taken > peer.freed && taken <= peer.written) {
      peer.freed = taken;
      peer.tail = peer.ends[(taken - 1) % kMessages];
      // Where nothing is left, what was skipped is free too.
      if (taken == peer.written) peer.tail = peer.head;
    }
    if (!fits()) return false;
  }
  Descriptor &descriptor = peer.mine->messages[peer.written % kMessages];
  if (!payload.empty())
    std::memcpy(peer.mine->payload + begin % kPayload, payload.data(),
                payload.size());
  descriptor.offset = begin % kPayload;
  descriptor.header = header;
  peer.head = begin + size;
  peer.ends[peer.written % kMessages] = peer.head;
  descriptor.number.store(++peer.written, std::memory_order_release);
  return true;
}

bool Rings::Read(int from, Message *message) const {
  const Peer &peer = peers_[size_t(from)];
  const Descriptor &descriptor = peer.theirs->messages[peer.read % kMessages];
  if (descriptor.number.load(std::memory_order_acquire) != peer.read + 1)
    return false;
  message->header = descriptor.header;
  const uint64_t offset = descriptor.offset;
  message->sound = offset <= kPayload && message->header.payload <= kPayload - offset;
  message->payload =
      message->sound
          ? absl::MakeConstSpan(peer.theirs->payload + offset, message->header.payload)
          : absl::Span<const std::byte>();
  return true;
}

bool Rings::More(int from) const {
  const Peer &peer = peers_[size_t(from)];
  const uint64_t next = peer.read + 1;
  return peer.theirs->messages[next % kMessages].number.load(
             std::memory_order_acquire) == next + 1;
}

void Rings::Take(int from) {
  Peer &peer = peers_[size_t(from)];
  peer.mine->taken.store(++peer.read, std::memory_order_release);
}

}  // namespace commsched::transport::mpi
