// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Page-aligned, zeroed memory straight from the system: arenas and slots are
// large, few, and live as long as the executor.
#ifndef COMMSCHED_RUNTIME_BASE_MEMORY_H
#define COMMSCHED_RUNTIME_BASE_MEMORY_H

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"

namespace commsched::runtime {

inline constexpr size_t kAlignment = 64;
inline constexpr size_t AlignUp(size_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

// Owns the memory; movable.
class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  // What is allocated if so many bytes are asked for.
  static size_t SizeOf(size_t bytes) { return bytes == 0 ? kAlignment : bytes; }
  // kResourceExhausted if the system has not that much.
  static absl::StatusOr<Memory> Allocate(size_t bytes);

  std::byte *data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  std::byte *data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_MEMORY_H
