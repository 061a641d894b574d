// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that other processes of this host may map, so that a transport between
// them need not copy: blocks backed by nameless files (memfd).
//
// Threading: all functions may be called from any thread.
#ifndef COMMSCHED_RUNTIME_BASE_SHARED_MEMORY_H
#define COMMSCHED_RUNTIME_BASE_SHARED_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace commsched::runtime {

// From now on Memory::Allocate makes large blocks shareable. For transports, at
// connection.
void ShareMemory();
// Blocks smaller than this are not worth it.
inline constexpr size_t kLeastShared = size_t{64} << 10;

// A new block of zeros if memory is shared and the block is large enough, else
// null (also if the system gives none).
std::byte *AllocateShared(size_t bytes);
// False if the block is not one of AllocateShared.
bool FreeShared(std::byte *block);

// Where bytes are, for another process.
struct SharedPlace {
  uint64_t block = 0;  // never used again in this process
  uint64_t block_bytes = 0;
  int32_t file = -1;  // descriptor in this process
  uint64_t offset = 0;
};
std::optional<SharedPlace> PlaceOf(const std::byte *data, size_t bytes);

// Maps a block of process `process` for reading; null if that is not allowed.
const std::byte *MapOf(int process, int32_t file, size_t bytes);
void Unmap(const std::byte *block, size_t bytes);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_SHARED_MEMORY_H
