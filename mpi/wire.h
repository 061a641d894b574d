// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes over MPI between two ranks of the MPI transport.
//
// Control messages: a Header, and behind it the payload of kEager, the HelloBody
// of kHello, the text of kAbort. All under one MPI tag, so that those of a pair of
// ranks are taken in the order in which they were sent. Parts of long messages:
// bytes only, under the MPI tag that the receiver chose.
//
// Greeting. Both send kHello, then kWelcome, which says whether the other's memory
// can be mapped. If both can, all that follows but parts goes through rings in that
// memory (mpi/rings.h) instead of MPI.
//
// Messages. A message of at most `eager` bytes (the smaller of both ranks'
// eager_bytes, with rings of their ring_eager_bytes) goes at once, as kEager, if it
// and those before it of which the receiver has not given the room back (kCredit)
// stay within the receiver's unexpected_bytes, each counted with
// runtime::core::kMessageCost more. Any other is announced (kAnnounce) and needs a
// kGrant. The receiver sends it when the receive is posted, if that is longer than
// `eager` bytes or the message was announced.
// The granted message comes as parts of the sender's part_bytes, the last one
// shorter; an empty one as one empty part. Or, if the receiver can map the
// sender's memory (`share` of the grant) and the message is in a block that can be
// mapped (runtime/base/shared_memory.h), as kPlace, which says where it is; the receiver
// reads it there and answers with kTaken.
//
// End. kGoodbye says how many parts were sent; the receiver takes it when it has
// as many, and answers with its own. kAbort: the sender gives up, or refuses.
//
// Both sides have the same byte order: kHello's magic number shows it.
#ifndef COMMSCHED_MPI_WIRE_H
#define COMMSCHED_MPI_WIRE_H

#include <cstddef>
#include <cstdint>

#include "runtime/transport/transport.h"

namespace commsched::transport::mpi {

inline constexpr uint32_t kMagic = 0x43534d35;  // "CSM5": also the version
// MPI tags: of control messages by the number of the connection, so that a
// message for the next is not taken for this one's; parts' above them.
inline constexpr int kConnections = 1024;
inline constexpr int kFirstPartTag = kConnections;

enum Kind : uint32_t {
  kHello = 1,
  kEager,
  kAnnounce,
  kGrant,
  kCredit,
  kAbort,
  kGoodbye,
  kPlace,  // with a PlaceBody
  kTaken,
  kWelcome,  // id: 1 if the receiver of kHello maps the sender's memory
};

struct Header {
  uint32_t kind = 0;
  uint32_t id = 0;     // kGrant: MPI tag of the parts; kAbort: code;
                       // kPlace and kTaken: that of the grant
  uint64_t bytes = 0;  // of the message; kCredit: room; kGoodbye: parts
  uint64_t step = 0;
  uint32_t key = 0, phase = 0, round = 0;
  uint32_t payload = 0;  // bytes behind the header

  runtime::MessageTag tag() const { return {step, key, phase, round}; }
  void set_tag(const runtime::MessageTag &tag) {
    step = tag.step;
    key = tag.key;
    phase = tag.phase;
    round = tag.round;
  }
};
static_assert(sizeof(Header) == 40);

struct HelloBody {
  uint32_t magic = kMagic;
  int32_t nodes = 0;
  uint64_t plan_digest = 0;
  uint64_t epoch = 0;
  uint64_t unexpected_bytes = 0;
  uint64_t eager_bytes = 0;
  uint64_t ring_eager_bytes = 0;
  uint64_t part_bytes = 0;
  // The block of the rings, which the receiver may try to map if its host has the
  // same name, and the number behind them: succeeds if the system allows it.
  uint64_t host = 0;  // hash of the name
  int32_t process = 0, file = -1;
  uint64_t number = 0;
};

// runtime::SharedPlace
struct PlaceBody {
  uint64_t block = 0, block_bytes = 0, offset = 0;
  int32_t file = -1, unused = 0;
};

}  // namespace commsched::transport::mpi

#endif  // COMMSCHED_MPI_WIRE_H
