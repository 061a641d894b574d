// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>

#include "runtime/base/sync.h"

namespace commsched::runtime {
namespace {

struct Block {
  size_t bytes = 0;
  int file = -1;
  uint64_t number = 0;
};

struct Blocks {
  Mutex mu;
  uint64_t last ABSL_GUARDED_BY(mu) = 0;
  std::map<const std::byte *, Block> all ABSL_GUARDED_BY(mu);  // by address
};

Blocks &TheBlocks() {
  static Blocks *blocks = new Blocks;
  return *blocks;
}

std::atomic<bool> shares{false};

}  // namespace

void ShareMemory() { shares = true; }

std::byte *AllocateShared(size_t bytes) {
  if (!shares || bytes < kLeastShared) return nullptr;
  const int file = memfd_create("commsched", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void *p = ftruncate(file, off_t(bytes)) == 0
                ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                : MAP_FAILED;
  if (p == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  auto *block = static_cast<std::byte *>(p);
  Blocks &blocks = TheBlocks();
  MutexLock lock(&blocks.mu);
  blocks.all[block] = {bytes, file, ++blocks.last};
  return block;
}

bool FreeShared(std::byte *data) {
  Block block;
  {
    Blocks &blocks = TheBlocks();
    MutexLock lock(&blocks.mu);
    auto it = blocks.all.find(data);
    if (it == blocks.all.end()) return false;
    block = it->second;
    blocks.all.erase(it);
  }
  munmap(data, block.bytes);
  close(block.file);
  return true;
}

std::optional<SharedPlace> PlaceOf(const std::byte *data, size_t bytes) {
  if (!shares) return std::nullopt;
  Blocks &blocks = TheBlocks();
  MutexLock lock(&blocks.mu);
  auto it = blocks.all.upper_bound(data);
  if (it == blocks.all.begin()) return std::nullopt;
  --it;
  const size_t offset = size_t(data - it->first);
  if (offset > it->second.bytes || bytes > it->second.bytes - offset)
    return std::nullopt;
  return SharedPlace{it->second.number, it->second.bytes, it->second.file, offset};
}

const std::byte *MapOf(int process, int32_t file, size_t bytes) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" +
                           std::to_string(file);
  const int own = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (own < 0) return nullptr;
  struct stat info;
  void *p = fstat(own, &info) == 0 && info.st_size >= off_t(bytes)
                ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, own, 0)
                : MAP_FAILED;
  close(own);
  return p == MAP_FAILED ? nullptr : static_cast<const std::byte *>(p);
}

void Unmap(const std::byte *block, size_t bytes) {
  munmap(const_cast<std::byte *>(block), bytes);
}

}  // namespace commsched::runtime
