// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Message tags on the wire.
#ifndef COMMSCHED_GRPC_RANKS_TAGS_H
#define COMMSCHED_GRPC_RANKS_TAGS_H

#include "grpc/base/transport.pb.h"
#include "runtime/core/message_tag.h"

namespace commsched::transport {

inline runtime::MessageTag FromWire(const Tag &tag) {
  return {tag.step(), tag.key(), tag.phase(), tag.round()};
}

inline void ToWire(const runtime::MessageTag &tag, Tag *wire) {
  wire->set_step(tag.step);
  wire->set_key(tag.key);
  wire->set_phase(tag.phase);
  wire->set_round(tag.round);
}

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_RANKS_TAGS_H
