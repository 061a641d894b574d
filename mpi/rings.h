// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control messages between ranks of one host, without MPI: each rank has a block
// of memory that it writes and the others map for reading. In it is a lane for
// every peer: what goes to it, a ring of descriptors and one of payloads, and how
// much of the peer's own lane has been taken. A descriptor is there once it has
// the number of its message, so that the reader looks at one line of the cache.
//
// The peer's memory is not trusted: what does not fit its lane is an error.
//
// Threading: one thread at a time writes to a peer, and one reads from it; they
// need not be the same.
#ifndef COMMSCHED_MPI_RINGS_H
#define COMMSCHED_MPI_RINGS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "mpi/wire.h"

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
  bool joined(int peer) const { return peers_[size_t(peer)].theirs != nullptr; }

  // False if there is no room for it now.
  bool Write(int to, const Header &header, absl::Span<const std::byte> payload);

  struct Message {
    Header header;
    absl::Span<const std::byte> payload;  // until it is taken
    bool sound = true;                    // false: the lane is damaged
  };
  // The oldest message that was not taken; false if there is none.
  bool Read(int from, Message *message) const;
  // Whether there is one behind it.
  bool More(int from) const;
  void Take(int from);

 private:
  struct Descriptor;
  struct Lane;
  struct Peer {
    Lane *mine = nullptr;
    const Lane *theirs = nullptr;
    uint64_t read = 0;  // messages of theirs
    // Of the own lane: messages, and bytes of payload, each since the beginning.
    uint64_t written = 0, freed = 0;
    uint64_t head = 0, tail = 0;
    std::vector<uint64_t> ends;  // of the payloads, by slot
  };

  const int rank_;
  std::vector<Peer> peers_;
};

}  // namespace commsched::transport::mpi

#endif  // COMMSCHED_MPI_RINGS_H
