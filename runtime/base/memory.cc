// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/shared_memory.h"

namespace commsched::runtime {

Memory::~Memory() {
  if (data_ != nullptr && !FreeShared(data_)) munmap(data_, bytes_);
}

absl::StatusOr<Memory> Memory::Allocate(size_t bytes) {
  Memory memory;
  bytes = SizeOf(bytes);
  auto fail = [&] {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot get ", bytes, " bytes of memory"));
  };
  // The system may promise more than it has and kill the process later.
  struct sysinfo info;
  if (sysinfo(&info) == 0 &&
      bytes / info.mem_unit > uint64_t(info.totalram) + info.totalswap)
    return fail();
  if (std::byte *shared = AllocateShared(bytes)) {
    memory.data_ = shared;
    memory.bytes_ = bytes;
    return memory;
  }
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return fail();
  if (bytes >= (size_t{4} << 20)) madvise(p, bytes, MADV_HUGEPAGE);
  memory.data_ = static_cast<std::byte *>(p);
  memory.bytes_ = bytes;
  return memory;
}

}  // namespace commsched::runtime
