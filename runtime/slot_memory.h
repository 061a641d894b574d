// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a program's slots: parameters and state.
#ifndef COMMSCHED_RUNTIME_SLOT_MEMORY_H
#define COMMSCHED_RUNTIME_SLOT_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/memory.h"
#include "runtime/program.h"

namespace commsched::runtime {

// A slot that some function writes has two copies: a call reads the current
// one and writes the next one, and what it has written is current for the call
// after it. So calls that overlap need no copying, only the plan's dependences.
// A slot that is only read has one copy.
//
// Owns the memory; addresses stay valid as long as it lives. Not thread-safe:
// the executor calls it under its lock, and orders reads and writes of the
// values themselves by the dependences.
class SlotMemory {
 public:
  // To be called once, before anything else. All values are zero then.
  absl::Status Allocate(const std::vector<SlotInfo> &slots);
  size_t bytes() const { return memory_.size(); }

  // The copy of slot `slot` (index) that a call reads, or that it writes.
  std::byte *Address(uint32_t slot, bool next) const {
    return copies_[version_[slot] ^ (next ? 1 : 0)][slot];
  }
  // From here on, "current" is what was "next".
  void Advance(uint32_t slot) { version_[slot] ^= 1; }

  // The current value. `info` describes the slot; a span of another size than
  // info.type.bytes is refused.
  absl::Status Set(uint32_t slot, const SlotInfo &info,
                   absl::Span<const std::byte> value);
  absl::Status Get(uint32_t slot, const SlotInfo &info,
                   absl::Span<std::byte> value) const;

 private:
  Memory memory_;
  std::vector<std::byte *> copies_[2];  // by slot; the same if there is one
  std::vector<uint8_t> version_;        // current copy, by slot
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SLOT_MEMORY_H
