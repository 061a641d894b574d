// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/slot_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {
namespace {

absl::Status CheckSize(const SlotInfo &info, size_t bytes) {
  if (!info.held)
    return absl::NotFoundError(
        absl::StrCat("\"", info.name, "\" is not held by this role"));
  if (bytes == info.type.bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "value of \"", info.name, "\" must match ", ToString(info.type), " of ",
      info.type.bytes, " bytes, got: ", bytes, " bytes"));
}

// Of a slot: a step that overlaps with another one needs one more copy.
constexpr size_t kSpareCopies = 1;

}  // namespace

size_t SlotMemory::BytesOf(const std::vector<SlotInfo> &slots) {
  size_t bytes = 0;
  for (const SlotInfo &slot : slots)
    if (slot.held)
      bytes += AlignUp(slot.type.bytes) * (slot.written ? 2 : 1);
  return bytes;
}

absl::Status SlotMemory::Allocate(const std::vector<SlotInfo> &slots) {
  absl::StatusOr<Memory> memory = Memory::Allocate(BytesOf(slots));
  if (!memory.ok())
    return absl::Status(
        memory.status().code(),
        absl::StrCat("parameters and state: ", memory.status().message()));
  auto shared = std::make_shared<Memory>(*std::move(memory));
  bytes_ = shared->size();
  std::byte *at = shared->data();
  for (const SlotInfo &slot : slots)
    for (int copy = 0; copy < 2; ++copy) {
      copies_[copy].emplace_back();
      if (!slot.held) continue;
      copies_[copy].back().data = at;
      copies_[copy].back().memory = shared;
      if (copy == 1 || slot.written) at += AlignUp(slot.type.bytes);
    }
  for (Copy &copy : copies_[1]) copy.since = kNothing;
  version_.assign(slots.size(), 0);
  last_.assign(slots.size(), 0);
  kept_.resize(slots.size());
  spare_.resize(slots.size());
  moves_.assign(slots.size(), false);
  return absl::OkStatus();
}

SharedBytes SlotMemory::Share(uint32_t slot, const SlotInfo &info) {
  Copy &copy = copies_[version_[slot]][slot];
  if (copy.readers == nullptr)
    copy.readers = std::make_shared<std::atomic<int>>(0);
  copy.readers->fetch_add(1, std::memory_order_relaxed);
  SharedBytes shared;
  shared.bytes = {copy.data, info.type.bytes};
  shared.owner = std::shared_ptr<const void>(
      copy.data, [memory = copy.memory, readers = copy.readers](const void *) {
        readers->fetch_sub(1, std::memory_order_release);
      });
  return shared;
}

bool SlotMemory::IsShared(const Copy &copy) {
  return copy.readers != nullptr && copy.readers->load(std::memory_order_acquire) != 0;
}

absl::StatusOr<SlotMemory::Copy> SlotMemory::Fresh(uint32_t slot, const SlotInfo &info) {
  Copy fresh;
  std::vector<Copy> &spare = spare_[slot];
  const auto unused = std::find_if_not(spare.begin(), spare.end(), IsShared);
  if (unused != spare.end()) {
    fresh.data = unused->data;
    fresh.memory = std::move(unused->memory);
    spare.erase(unused);
  } else {
    absl::StatusOr<Memory> memory = Memory::Allocate(info.type.bytes);
    if (!memory.ok())
      return absl::Status(memory.status().code(),
                          absl::StrCat("another copy of \"", info.name,
                                       "\": ", memory.status().message()));
    auto owned = std::make_shared<Memory>(*std::move(memory));
    fresh.data = owned->data();
    fresh.memory = std::move(owned);
  }
  fresh.since = kNothing;
  return fresh;
}

void SlotMemory::Recycle(uint32_t slot, Copy copy) {
  if (copy.memory != nullptr && spare_[slot].size() < kSpareCopies)
    spare_[slot].push_back(std::move(copy));
}

absl::Status SlotMemory::PrepareWrite(uint32_t slot, const SlotInfo &info,
                                      uint64_t completed, Write *write) {
  write->copy = version_[slot] ^ 1;
  write->begun = false;
  write->after = last_[slot];
  Copy &next = copies_[write->copy][slot];
  const bool wanted = moves_[slot] && completed < write->after && next.since != kNothing;
  if (!IsShared(next) && !wanted) return absl::OkStatus();
  Forget(slot, completed);
  absl::StatusOr<Copy> fresh = Fresh(slot, info);
  if (!fresh.ok()) return IsShared(next) ? fresh.status() : absl::OkStatus();
  // Whoever has the old memory has what may be wanted.
  Copy before = std::exchange(next, *std::move(fresh));
  if (before.since != kNothing) Keep(slot, std::move(before));
  return absl::OkStatus();
}

void SlotMemory::Keep(uint32_t slot, Copy copy) {
  std::deque<Copy> &kept = kept_[slot];
  kept.insert(std::upper_bound(kept.begin(), kept.end(), copy,
                               [](const Copy &a, const Copy &b) { return a.since < b.since; }),
              std::move(copy));
}

void SlotMemory::Forget(uint32_t slot, uint64_t completed) {
  std::deque<Copy> &kept = kept_[slot];
  while (!kept.empty()) {
    uint64_t next = kNothing;
    if (kept.size() > 1) next = kept[1].since;
    for (const auto &copies : copies_)
      if (copies[slot].since > kept[0].since)
        next = std::min(next, copies[slot].since);
    if (next == kNothing || next > completed) return;
    Recycle(slot, std::move(kept.front()));
    kept.pop_front();
  }
}

void SlotMemory::BeginWrite(uint32_t slot, const SlotInfo &info, uint64_t call,
                            uint64_t completed, Write *write) {
  if (write->begun) return;
  write->begun = true;
  Copy &copy = copies_[write->copy][slot];
  if (completed < write->after && copy.since != kNothing) {
    Copy old;
    // Without memory there is nothing to go back to, which GoBack says.
    if (absl::StatusOr<Copy> fresh = Fresh(slot, info); fresh.ok()) {
      old = *std::move(fresh);
      if (info.type.bytes != 0) std::memcpy(old.data, copy.data, info.type.bytes);
    }
    old.since = copy.since;
    Keep(slot, std::move(old));
  }
  moves_[slot] = completed < write->after;
  copy.since = call + 1;
  if (!kept_[slot].empty()) Forget(slot, completed);
}

absl::Status SlotMemory::GoBack(uint32_t slot, const SlotInfo &info,
                                uint64_t calls) {
  Copy *best = nullptr;
  auto consider = [&](Copy &copy) {
    if (copy.since <= calls && (best == nullptr || copy.since > best->since))
      best = &copy;
  };
  for (auto &copies : copies_) consider(copies[slot]);
  for (Copy &kept : kept_[slot]) consider(kept);
  if (best == nullptr || (best->memory == nullptr && info.type.bytes != 0))
    return absl::ResourceExhaustedError(
        absl::StrCat("there was no memory to keep \"", info.name, "\""));
  for (uint8_t c = 0; c < 2; ++c)
    if (best == &copies_[c][slot]) {
      version_[slot] = c;
      return absl::OkStatus();
    }
  // What is there may still be written; it stays where it is.
  std::swap(copies_[version_[slot]][slot], *best);
  return absl::OkStatus();
}

absl::Status SlotMemory::Set(uint32_t slot, const SlotInfo &info,
                             absl::Span<const std::byte> value) {
  if (absl::Status s = CheckSize(info, value.size()); !s.ok()) return s;
  Copy &current = copies_[version_[slot]][slot];
  if (IsShared(current)) {
    absl::StatusOr<Copy> fresh = Fresh(slot, info);
    if (!fresh.ok()) return fresh.status();
    fresh->since = current.since;
    current = *std::move(fresh);
  }
  if (!info.written) copies_[version_[slot] ^ 1][slot] = current;
  if (!value.empty())
    std::memcpy(Address(slot, false), value.data(), value.size());
  return absl::OkStatus();
}

absl::Status SlotMemory::Get(uint32_t slot, const SlotInfo &info,
                             absl::Span<std::byte> value) const {
  if (absl::Status s = CheckSize(info, value.size()); !s.ok()) return s;
  if (!value.empty())
    std::memcpy(value.data(), Address(slot, false), value.size());
  return absl::OkStatus();
}

}  // namespace commsched::runtime
