// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a program's slots: parameters and state.
#ifndef COMMSCHED_RUNTIME_SLOT_MEMORY_H
#define COMMSCHED_RUNTIME_SLOT_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/memory.h"
#include "runtime/program.h"
#include "runtime/shared_bytes.h"

namespace commsched::runtime {

// A slot that some function writes has two copies: a call reads the current
// one and writes the next one, and what it has written is current for the call
// after it. So calls that overlap need no copying, only the plan's dependences.
// A slot that is only read has one copy; one that the role does not hold, none.
//
// Owns the memory; addresses stay valid until PrepareWrite or Set of the slot.
// Not thread-safe, except that what Share has given may be read and dropped
// anywhere: the executor calls it under its lock, and orders reads and writes of
// the values themselves by the dependences.
class SlotMemory {
 public:
  // To be called once, before anything else. All values are zero then.
  absl::Status Allocate(const std::vector<SlotInfo> &slots);
  size_t bytes() const { return bytes_; }

  // The copy of slot `slot` (index) that a call reads, or that it writes.
  std::byte *Address(uint32_t slot, bool next) const {
    return copies_[version_[slot] ^ (next ? 1 : 0)][slot].data;
  }
  // From here on, "current" is what was "next".
  void Advance(uint32_t slot) { version_[slot] ^= 1; }

  // The current value, which stays as it is as long as somebody has it.
  SharedBytes Share(uint32_t slot, const SlotInfo &info);
  // To be called before the next copy is written: if somebody still has what
  // lies there, it gets other memory.
  absl::Status PrepareWrite(uint32_t slot, const SlotInfo &info);

  // The current value. `info` describes the slot; a span of another size than
  // info.type.bytes is refused.
  absl::Status Set(uint32_t slot, const SlotInfo &info,
                   absl::Span<const std::byte> value);
  absl::Status Get(uint32_t slot, const SlotInfo &info,
                   absl::Span<std::byte> value) const;

 private:
  struct Copy {
    std::byte *data = nullptr;
    std::shared_ptr<const Memory> memory;  // in which it lies
    // Of what is shared. Null if nothing ever was.
    std::shared_ptr<std::atomic<int>> readers;
  };
  absl::Status Unshare(const SlotInfo &info, Copy *copy);

  size_t bytes_ = 0;
  std::vector<Copy> copies_[2];   // by slot; the same if there is one
  std::vector<uint8_t> version_;  // current copy, by slot
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SLOT_MEMORY_H
