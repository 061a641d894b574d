// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a program's slots: parameters and state.
#ifndef COMMSCHED_RUNTIME_EXECUTE_SLOT_MEMORY_H
#define COMMSCHED_RUNTIME_EXECUTE_SLOT_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/memory.h"
#include "runtime/base/shared_bytes.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// A slot that some function writes has two copies: a call reads the current
// one and writes the next one, and what it has written is current for the call
// after it. So calls that overlap need no copying, only the plan's dependences.
// A slot that is only read has one copy; one that the role does not hold, none.
//
// Calls are numbered by the caller. What a copy held is kept when a call begins to
// write it although a call before it has not been completed by all who may go back
// together: a state that is written early in a step (a count of steps, a random key), or
// what is pulled from a server while other values of the step before are on their way.
// The first time that costs copying it; while it is so, calls after that get other memory
// for the slot, and it stays where it is. Memory that nobody needs any more is used again.
//
// Owns the memory; addresses stay valid until PrepareWrite, Set or GoBack of the slot.
// Not thread-safe, except that what Share has given may be read and dropped
// anywhere: the executor calls it under its lock, and orders reads and writes of
// the values themselves by the dependences.
class SlotMemory {
 public:
  // To be called once, before anything else. All values are zero then.
  absl::Status Allocate(const std::vector<SlotInfo> &slots);
  size_t bytes() const { return bytes_; }
  // What Allocate asks for.
  static size_t BytesOf(const std::vector<SlotInfo> &slots);

  // The copy of slot `slot` (index) that a call reads, or that it writes.
  std::byte *Address(uint32_t slot, bool next) const {
    return copies_[version_[slot] ^ (next ? 1 : 0)][slot].data;
  }
  // From here on, "current" is what was "next", which call `call` writes.
  void Advance(uint32_t slot, uint64_t call) {
    version_[slot] ^= 1;
    last_[slot] = call + 1;
  }

  // The current value, which stays as it is as long as somebody has it.
  SharedBytes Share(uint32_t slot, const SlotInfo &info);
  // A call's write of a slot.
  struct Write {
    uint8_t copy = 0;
    bool begun = false;
    uint64_t after = 0;  // so many calls: all up to the last one that wrote it
  };
  // To be called before a call begins that writes the next copy: if somebody still
  // has what lies there, or will want it, as far as can be seen, it gets other memory.
  absl::Status PrepareWrite(uint32_t slot, const SlotInfo &info, uint64_t completed,
                            Write *write);
  // To be called before the first instruction of call `call` that writes the slot.
  // `completed`: calls that all have completed who may go back together.
  void BeginWrite(uint32_t slot, const SlotInfo &info, uint64_t call,
                  uint64_t completed, Write *write);
  // Makes the value after the first `calls` calls the current one, for which these
  // must be at least as many as `completed` ever was, and have completed here.
  absl::Status GoBack(uint32_t slot, const SlotInfo &info, uint64_t calls);

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
    uint64_t since = 0;  // what it holds is the value after so many calls
  };
  static constexpr uint64_t kNothing = std::numeric_limits<uint64_t>::max();

  static bool IsShared(const Copy &copy);
  // Other memory for the slot, which holds nothing.
  absl::StatusOr<Copy> Fresh(uint32_t slot, const SlotInfo &info);
  // Nobody goes back to what it holds.
  void Recycle(uint32_t slot, Copy copy);
  void Keep(uint32_t slot, Copy copy);
  // Of what is kept of a slot, forgets what nobody goes back to any more.
  void Forget(uint32_t slot, uint64_t completed);

  size_t bytes_ = 0;
  std::vector<Copy> copies_[2];           // by slot; the same if there is one
  std::vector<uint8_t> version_;          // current copy, by slot
  std::vector<uint64_t> last_;            // calls up to the last that writes it; 0: none
  std::vector<std::deque<Copy>> kept_;    // by slot, `since` ascends
  std::vector<std::vector<Copy>> spare_;  // by slot: memory in which nothing is wanted
  std::vector<bool> moves_;               // by slot: when it was written last, that was wanted
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_SLOT_MEMORY_H
