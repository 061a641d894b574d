// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn calls that overlap, values that are shared, and ranks that are behind, against a
// list of all values that there ever were.
#include "runtime/execute/slot_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "tests/cases.h"

namespace commsched::runtime {
namespace {

constexpr int kElements = 40;

SlotInfo Written() {
  SlotInfo info;
  info.name = "w";
  info.type = {ops::Element::kI32, {kElements}, kElements, kElements * sizeof(int32_t)};
  info.held = info.written = true;
  return info;
}

// What the slot holds after `calls` calls.
std::vector<int32_t> ValueAfter(uint64_t calls) {
  std::vector<int32_t> value(kElements);
  for (int i = 0; i < kElements; ++i) value[size_t(i)] = calls == 0 ? 0 : int32_t(1000 * calls) + i;
  return value;
}

std::vector<int32_t> At(const std::byte *data) {
  std::vector<int32_t> value(kElements);
  std::memcpy(value.data(), data, kElements * sizeof(int32_t));
  return value;
}

// Two calls at a time, as an executor has them. A call writes when the one before it has
// written.
class Calls {
 public:
  explicit Calls(uint32_t seed) : random_(seed), lag_(seed % 4) {
    EXPECT_TRUE(memory_.Allocate({info_}).ok());
  }

  void Run(int steps) {
    // At times calls follow each other, at others they overlap.
    for (int i = 0; i < steps; ++i) {
      switch (Draw(i / 50 % 2 == 0 ? 5 : 8)) {
        case 0:
        case 5:
          Begin();
          break;
        case 1:
        case 6:
          Write();
          break;
        case 2:
          Complete();
          break;
        case 3:
          if (shared_.size() < 3 && open_.empty())
            shared_.push_back({memory_.Share(0, info_), began_});
          break;
        default:
          if (!shared_.empty()) shared_.erase(shared_.begin() + long(Draw(shared_.size())));
      }
      Check();
      if (::testing::Test::HasFailure()) return;
    }
  }

  // What has not completed everywhere is given up, or a part of it.
  void GoBack() {
    const uint64_t all = CompletedByAll(), calls = all + Draw(completed_ - all + 1);
    ASSERT_TRUE(memory_.GoBack(0, info_, calls).ok());
    std::vector<int32_t> value(kElements);
    ASSERT_TRUE(memory_.Get(0, info_, absl::MakeSpan(reinterpret_cast<std::byte *>(value.data()), info_.type.bytes))
                    .ok());
    EXPECT_EQ(value, ValueAfter(calls));
  }

 private:
  struct Open {
    uint64_t number;
    std::byte *current, *next;
    SlotMemory::Write write;
    bool written = false;
  };
  struct Shared {
    SharedBytes bytes;
    uint64_t calls;
  };

  uint64_t Draw(uint64_t below) { return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_); }

  void Begin() {
    if (open_.size() == 2) return;
    Open call;
    call.number = began_++;
    ASSERT_TRUE(memory_.PrepareWrite(0, info_, CompletedByAll(), &call.write).ok());
    call.current = memory_.Address(0, false);
    call.next = memory_.Address(0, true);
    memory_.Advance(0, call.number);
    open_.push_back(call);
  }
  void Write() {
    for (Open &call : open_) {
      if (call.written) continue;
      memory_.BeginWrite(0, info_, call.number, CompletedByAll(), &call.write);
      const std::vector<int32_t> value = ValueAfter(call.number + 1);
      std::memcpy(call.next, value.data(), info_.type.bytes);
      call.written = true;
      written_ = call.number + 1;
      return;
    }
  }
  void Complete() {
    if (open_.empty() || !open_.front().written) return;
    open_.pop_front();
    ++completed_;
  }
  // The others are behind.
  uint64_t CompletedByAll() const { return completed_ - std::min(completed_, lag_); }

  // What somebody reads is as it was; a call's reads are over when the next one writes.
  void Check() {
    for (const Open &call : open_)
      if (written_ == call.number || written_ == call.number + 1) {
        EXPECT_EQ(At(call.current), ValueAfter(call.number));
      }
    for (const Shared &shared : shared_)
      EXPECT_EQ(At(shared.bytes.bytes.data()), ValueAfter(shared.calls));
  }

  const SlotInfo info_ = Written();
  std::mt19937 random_;
  const uint64_t lag_;
  SlotMemory memory_;
  std::deque<Open> open_;
  std::vector<Shared> shared_;
  uint64_t began_ = 0, written_ = 0, completed_ = 0;
};

TEST(SlotMemoryTest, ValuesStayAsLongAsSomebodyMayWantThem) {
  const Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    Calls calls(seed);
    calls.Run(int(20 + seed % 400));
    if (HasFailure()) return;
    calls.GoBack();
    if (HasFailure()) return;
  }
}

// Each call begins to write while the one before it is not complete.
TEST(SlotMemoryTest, WhatIsKeptInEachCallIsCopiedOnce) {
  const SlotInfo info = Written();
  SlotMemory memory;
  ASSERT_TRUE(memory.Allocate({info}).ok());
  std::set<std::byte *> used;
  for (uint64_t call = 0; call < 50; ++call) {
    const std::byte *before = memory.Address(0, true);
    SlotMemory::Write write;
    const uint64_t completed = call == 0 ? 0 : call - 1;
    ASSERT_TRUE(memory.PrepareWrite(0, info, completed, &write).ok());
    std::byte *next = memory.Address(0, true);
    memory.Advance(0, call);
    memory.BeginWrite(0, info, call, completed, &write);
    // What was there is not written over: so nobody had to copy it.
    if (call > 3) {
      EXPECT_NE(next, before) << call;
    }
    used.insert(next);
    const std::vector<int32_t> value = ValueAfter(call + 1);
    std::memcpy(next, value.data(), info.type.bytes);
  }
  EXPECT_LE(used.size(), 4u) << "more is kept than is wanted";
}

}  // namespace
}  // namespace commsched::runtime
