// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control messages between ranks of one host, without MPI: each rank has a block
// of memory that it writes and the others map for reading. In it is a lane
// (runtime/transport/lane.h) for every peer.
//
// Threading: one thread at a time writes to a peer, and one reads from it; they
// need not be the same.
#ifndef COMMSCHED_MPI_RINGS_H
#define COMMSCHED_MPI_RINGS_H

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "mpi/wire.h"
#include "runtime/transport/lane.h"

namespace commsched::transport::mpi {

class Rings {
 public:
  // Of the block of each of `nodes` ranks.
  static size_t BlockBytes(int nodes);
  // A payload of this size always fits once all before it are taken.
  static constexpr size_t kLargest = size_t{64} << 10;

  // `own`: zeros, aligned to a page; outlives the rings.
  Rings(int rank, int nodes, std::byte *own);

  // From now on `peer` can be written to and read from. `block` is its own, of
  // the same number of nodes, which has been zeros at the beginning too.
  void Join(int peer, const std::byte *block);
  bool joined(int peer) const { return peers_[size_t(peer)].has_value(); }

  // False if there is no room for it now.
  bool Write(int to, const Header &header, absl::Span<const std::byte> payload);

  using Message = runtime::LaneReader<Header>::Message;
  // The oldest message that was not taken; false if there is none.
  bool Read(int from, Message *message) const {
    return peers_[size_t(from)]->reader.Peek(message);
  }
  bool Any(int from) const { return peers_[size_t(from)]->reader.Any(); }
  // Whether there is one behind it.
  bool More(int from) const { return peers_[size_t(from)]->reader.More(); }
  void Take(int from);

 private:
  struct Peer {
    runtime::LaneWriter<Header> writer;
    runtime::LaneReader<Header> reader;
  };

  const int rank_;
  std::byte *const own_;
  std::vector<std::optional<Peer>> peers_;
};

}  // namespace commsched::transport::mpi

#endif  // COMMSCHED_MPI_RINGS_H
