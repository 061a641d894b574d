// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/rings.h"

#include <cstring>

namespace commsched::transport::mpi {
namespace {

constexpr runtime::LaneShape kShape = {.messages = 128, .payload = 2 * Rings::kLargest};

size_t LaneBytes() { return runtime::LaneMemory<Header>::Bytes(kShape); }

}  // namespace

size_t Rings::BlockBytes(int nodes) { return size_t(nodes) * LaneBytes(); }

Rings::Rings(int rank, int nodes, std::byte *own)
    : rank_(rank), own_(own), peers_(size_t(nodes)) {}

void Rings::Join(int with, const std::byte *block) {
  std::byte *const mine = own_ + size_t(with) * LaneBytes();
  const std::byte *const theirs = block + size_t(rank_) * LaneBytes();
  peers_[size_t(with)].emplace(Peer{{kShape, mine, theirs}, {kShape, mine, theirs}});
}

bool Rings::Write(int to, const Header &header, absl::Span<const std::byte> payload) {
  runtime::LaneWriter<Header> &writer = peers_[size_t(to)]->writer;
  std::byte *const place = writer.Reserve(payload.size());
  if (place == nullptr) return false;
  if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
  writer.Commit(header);
  return true;
}

void Rings::Take(int from) {
  runtime::LaneReader<Header> &reader = peers_[size_t(from)]->reader;
  reader.Pass();
  reader.Give();
}

}  // namespace commsched::transport::mpi
