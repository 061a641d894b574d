// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Message tags on the wire and in errors.
#ifndef COMMSCHED_GRPC_TAGS_H
#define COMMSCHED_GRPC_TAGS_H

#include <cstddef>
#include <string>

#include "absl/strings/str_format.h"
#include "grpc/transport.pb.h"
#include "runtime/transport.h"

namespace commsched::transport {

// What an unexpected message costs besides its bytes: transport.proto.
inline constexpr size_t kMessageCost = 256;

inline runtime::MessageTag FromWire(const Tag &tag) {
  return {tag.step(), tag.key(), tag.phase(), tag.round()};
}

inline void ToWire(const runtime::MessageTag &tag, Tag *wire) {
  wire->set_step(tag.step);
  wire->set_key(tag.key);
  wire->set_phase(tag.phase);
  wire->set_round(tag.round);
}

inline std::string Describe(const runtime::MessageTag &tag) {
  return absl::StrFormat("message (step %d, key %d, phase %d, round %d)",
                         tag.step, tag.key, tag.phase, tag.round);
}

inline std::string WrongSize(const runtime::MessageTag &tag, size_t receive,
                             size_t message) {
  return absl::StrFormat(
      "size of %s must match the receive's %d bytes, got: %d", Describe(tag),
      receive, message);
}

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_TAGS_H
