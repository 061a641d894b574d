// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slot_memory.h"

#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace commsched::runtime {
namespace {

absl::Status CheckSize(const SlotInfo &info, size_t bytes) {
  if (bytes == info.type.bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "value of \"", info.name, "\" must match ", ToString(info.type), " of ",
      info.type.bytes, " bytes, got: ", bytes, " bytes"));
}

}  // namespace

absl::Status SlotMemory::Allocate(const std::vector<SlotInfo> &slots) {
  size_t bytes = 0;
  for (const SlotInfo &slot : slots)
    bytes += AlignUp(slot.type.bytes) * (slot.written ? 2 : 1);
  absl::StatusOr<Memory> memory = Memory::Allocate(bytes);
  if (!memory.ok())
    return absl::Status(
        memory.status().code(),
        absl::StrCat("parameters and state: ", memory.status().message()));
  memory_ = *std::move(memory);
  std::byte *at = memory_.data();
  for (const SlotInfo &slot : slots)
    for (int copy = 0; copy < 2; ++copy) {
      copies_[copy].push_back(at);
      if (copy == 1 || slot.written) at += AlignUp(slot.type.bytes);
    }
  version_.assign(slots.size(), 0);
  return absl::OkStatus();
}

absl::Status SlotMemory::Set(uint32_t slot, const SlotInfo &info,
                             absl::Span<const std::byte> value) {
  if (absl::Status s = CheckSize(info, value.size()); !s.ok()) return s;
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
