// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_CORE_MESSAGE_TAG_H
#define COMMSCHED_RUNTIME_CORE_MESSAGE_TAG_H

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"

namespace commsched::runtime {

// Names a message between two ranks. All ranks compute the same tag from the
// plan; nothing in it is local.
struct MessageTag {
  uint64_t step = 0;   // number of the function call, counted over the run
  uint32_t key = 0;    // number of the Communicate instruction in the plan
  uint32_t phase = 0;  // in that instruction
  uint32_t round = 0;  // in that phase

  friend bool operator==(const MessageTag &a, const MessageTag &b) {
    return a.step == b.step && a.key == b.key && a.phase == b.phase &&
           a.round == b.round;
  }
  friend bool operator<(const MessageTag &a, const MessageTag &b) {
    return std::tie(a.step, a.key, a.phase, a.round) <
           std::tie(b.step, b.key, b.phase, b.round);
  }
  template <typename H>
  friend H AbslHashValue(H h, const MessageTag &t) {
    // Two words are hashed in half of the time of four.
    return H::combine(std::move(h), t.step + (uint64_t{t.key} << 40),
                      (uint64_t{t.phase} << 32) + t.round);
  }
};

// For errors.
inline std::string Describe(const MessageTag &tag) {
  return absl::StrFormat("message (step %d, key %d, phase %d, round %d)", tag.step,
                         tag.key, tag.phase, tag.round);
}

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_CORE_MESSAGE_TAG_H
