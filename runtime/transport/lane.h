// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between two processes of a host through memory that both map: each has a lane
// in it, which it alone writes and the other reads. In a lane is a ring of slots, which
// say what the messages are, a ring of their payloads, each in one piece, how many
// messages of the other's lane have been taken, and when its owner wants to be woken. A
// message is there once its slot has its number, so that the reader looks at one line of
// the cache.
//
// The other's memory is not trusted, and may change at any time: what does not fit the
// lane is an error, and what is said of a message is read once.
//
// Whoever sleeps says so (Want...) and looks once more; whoever moves something on asks
// whether the other is to be woken (Wakes...), which is said once for each time that it
// was wanted. Then nobody sleeps while there is something for it.
//
// `Header` is copied as bytes and has a member `payload`, the bytes of the payload.
//
// Threading: one thread at a time uses a writer, and one a reader; they need not be the
// same.
#ifndef COMMSCHED_RUNTIME_TRANSPORT_LANE_H
#define COMMSCHED_RUNTIME_TRANSPORT_LANE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace commsched::runtime {

// The same for both sides: powers of two.
struct LaneShape {
  size_t messages;
  size_t payload;  // bytes

  // A payload of this size always fits once all before it are taken.
  size_t largest() const { return payload / 2; }
};

// Where things are in the memory of a lane, which begins as zeros at a page.
template <typename Header>
class LaneMemory {
 public:
  static constexpr size_t kLine = 64, kPage = 4096;

  struct alignas(kLine) Slot {
    std::atomic<uint64_t> number;  // of the message, from 1 on
    std::atomic<uint64_t> offset;  // of the payload
    Header header;
  };
  struct Head {
    // Messages of the other's lane that this side has taken.
    alignas(kLine) std::atomic<uint64_t> taken;
    // How often it wanted to be woken when there is a message, and when there is room.
    alignas(kLine) std::atomic<uint64_t> message_wanted;
    std::atomic<uint64_t> room_wanted;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  // Whole pages.
  static size_t Bytes(LaneShape shape) {
    return (sizeof(Head) + shape.messages * sizeof(Slot) + shape.payload + kPage - 1) /
           kPage * kPage;
  }

  // The memory outlives this object. Of the other's lane nothing is written.
  LaneMemory(LaneShape shape, const std::byte *memory)
      : shape_(shape), memory_(const_cast<std::byte *>(memory)) {}

  Head &head() const { return *reinterpret_cast<Head *>(memory_); }
  Slot &slot(uint64_t message) const {
    return reinterpret_cast<Slot *>(memory_ + sizeof(Head))[message & (shape_.messages - 1)];
  }
  std::byte *payload() const {
    return memory_ + sizeof(Head) + shape_.messages * sizeof(Slot);
  }

 private:
  const LaneShape shape_;
  std::byte *const memory_;
};

template <typename Header>
class LaneWriter {
 public:
  LaneWriter(LaneShape shape, std::byte *own, const std::byte *theirs)
      : shape_(shape), own_(shape, own), theirs_(shape, theirs), ends_(shape.messages) {}

  // Where the payload of the next message goes; null if there is no room for it now.
  std::byte *Reserve(size_t bytes) {
    const size_t size = (bytes + kLine - 1) / kLine * kLine;
    if (!Fits(size)) {
      // The other's count is read as seldom as can be: it writes the line.
      const uint64_t taken = theirs_.head().taken.load(std::memory_order_seq_cst);
      if (taken > freed_ && taken <= written_) {
        freed_ = taken;
        tail_ = ends_[(taken - 1) & (shape_.messages - 1)];
        // Where nothing is left, what was skipped is free too.
        if (taken == written_) tail_ = head_;
      }
      if (!Fits(size)) return nullptr;
    }
    end_ = begin_ + size;
    return own_.payload() + (begin_ & (shape_.payload - 1));
  }
  // The message is there, with what was written to the place reserved for it.
  void Commit(const Header &header, std::memory_order order = std::memory_order_release) {
    auto &slot = own_.slot(written_);
    slot.offset.store(begin_ & (shape_.payload - 1), std::memory_order_relaxed);
    slot.header = header;
    head_ = end_;
    ends_[written_ & (shape_.messages - 1)] = head_;
    slot.number.store(++written_, order);
  }

  // Reserve has found no room: it is to be called once more.
  void WantRoom() { own_.head().room_wanted.store(++wanted_, std::memory_order_seq_cst); }
  // After a Commit in the order seq_cst: whether the reader is to be woken.
  bool WakesReader() {
    const uint64_t wanted = theirs_.head().message_wanted.load(std::memory_order_seq_cst);
    return wanted != std::exchange(woken_, wanted);
  }

 private:
  static constexpr size_t kLine = LaneMemory<Header>::kLine;
  bool Fits(size_t size) {
    begin_ = head_;
    // In one piece.
    if ((begin_ & (shape_.payload - 1)) + size > shape_.payload)
      begin_ = (begin_ / shape_.payload + 1) * shape_.payload;
    return written_ - freed_ < shape_.messages && begin_ + size - tail_ <= shape_.payload;
  }

  const LaneShape shape_;
  const LaneMemory<Header> own_, theirs_;
  // Messages, and bytes of payload, each since the beginning.
  uint64_t written_ = 0, freed_ = 0;
  uint64_t head_ = 0, tail_ = 0;
  uint64_t begin_ = 0, end_ = 0;  // of what is reserved
  std::vector<uint64_t> ends_;    // of the payloads, by slot
  uint64_t wanted_ = 0, woken_ = 0;
};

template <typename Header>
class LaneReader {
 public:
  struct Message {
    Header header;
    absl::Span<const std::byte> payload;  // until it is given back
    bool sound = true;                    // false: the lane is damaged
  };

  LaneReader(LaneShape shape, std::byte *own, const std::byte *theirs)
      : shape_(shape), own_(shape, own), theirs_(shape, theirs) {}

  // The oldest message that was not passed; false if there is none.
  bool Peek(Message *message) const {
    const auto &slot = theirs_.slot(passed_);
    if (slot.number.load(std::memory_order_seq_cst) != passed_ + 1) return false;
    message->header = slot.header;
    const uint64_t offset = slot.offset.load(std::memory_order_relaxed);
    const size_t bytes = message->header.payload;
    message->sound = offset <= shape_.payload && bytes <= shape_.payload - offset;
    message->payload = message->sound ? absl::MakeConstSpan(theirs_.payload() + offset, bytes)
                                      : absl::Span<const std::byte>();
    return true;
  }
  // Whether there is one that was not passed.
  bool Any() const {
    return theirs_.slot(passed_).number.load(std::memory_order_acquire) == passed_ + 1;
  }
  // Whether there is one behind it.
  bool More() const {
    return theirs_.slot(passed_ + 1).number.load(std::memory_order_acquire) == passed_ + 2;
  }
  // To the next one. The payload stays.
  void Pass() { ++passed_; }
  // Gives back the oldest payload that was passed.
  void Give(std::memory_order order = std::memory_order_release) {
    own_.head().taken.store(++given_, order);
  }

  // Peek has found nothing: it is to be called once more.
  void WantMessage() {
    own_.head().message_wanted.store(++wanted_, std::memory_order_seq_cst);
  }
  // After a Give in the order seq_cst: whether the writer is to be woken.
  bool WakesWriter() {
    const uint64_t wanted = theirs_.head().room_wanted.load(std::memory_order_seq_cst);
    return wanted != std::exchange(woken_, wanted);
  }

 private:
  const LaneShape shape_;
  const LaneMemory<Header> own_, theirs_;
  uint64_t passed_ = 0, given_ = 0;
  uint64_t wanted_ = 0, woken_ = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_TRANSPORT_LANE_H
