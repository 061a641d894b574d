// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages that the receiver reads where they are, in memory of the sender.
#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/ranks.h"
#include "runtime/base/shared_memory.h"

namespace commsched::transport::mpi {

namespace {

// Between two pieces others may have the lock.
constexpr size_t kPlacedPiece = size_t{256} << 10;

}  // namespace

void MpiRanks::TakePlace(int from, const Header &header, const PlaceBody &body,
                         Actions *actions) {
  Peer &peer = peers_[from];
  auto it = granted_.find({from, int(header.id)});
  if (it == granted_.end() || it->second->bytes != header.bytes ||
      body.block_bytes < header.bytes || body.offset > body.block_bytes - header.bytes)
    return FailProtocol(from, absl::DataLossError("got a place that does not fit the grant"),
                        actions);
  auto &[block, size] = peer.blocks[body.block];
  if (block == nullptr) {
    block = runtime::MapOf(peer.theirs.process, body.file, body.block_bytes);
    size = body.block_bytes;
    if (block == nullptr)
      return FailProtocol(from, absl::DataLossError("its memory cannot be mapped any more"),
                          actions);
  }
  const std::shared_ptr<Incoming> incoming = it->second;
  granted_.erase(it);
  incoming->place = block + body.offset;
  incoming->parts = incoming->begun = PartsOf(incoming->bytes, kPlacedPiece);
  to_pass_.push_back(incoming);
}

// Without the lock while bytes are copied or a sink runs.
void MpiRanks::PassPlaced(const std::shared_ptr<Incoming> &incoming,
                          Actions *actions) {
  Incoming &in = *incoming;
  while (in.ended < in.parts) {
    const size_t begin = in.ended * kPlacedPiece;
    const size_t size = std::min(kPlacedPiece, in.bytes - begin);
    if (in.failure.ok()) {
      in.passing = true;
      mu_.Unlock();
      if (in.buffer != nullptr)
        std::memcpy(in.buffer + begin, in.place + begin, size);
      else
        in.sink(begin, absl::MakeConstSpan(in.place + begin, size));
      mu_.Lock();
      in.passing = false;
    }
    ++in.ended;
  }
  Peer &peer = peers_[in.peer];
  if (in.failure.ok()) {
    peer.matcher->End(in.tag);
    Tell(in.peer, Header{.kind = kTaken, .id = uint32_t(in.id)});
  }
  EndReceive(in, actions);
}

void MpiRanks::TakeTaken(int from, const Header &header, Actions *actions) {
  Peer &peer = peers_[from];
  auto it = peer.placed.find(int(header.id));
  if (it == peer.placed.end())
    return FailProtocol(from, absl::DataLossError("has taken a message that was not placed"),
                        actions);
  const std::shared_ptr<Outgoing> outgoing = std::move(it->second);
  peer.placed.erase(it);
  bytes_sent_ += outgoing->bytes.size();
  Finish(std::move(outgoing->done), absl::OkStatus(), actions);
}

}  // namespace commsched::transport::mpi
