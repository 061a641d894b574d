// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the control group of this process says of its memory, as of a container or a job of Slurm; of both
// versions of cgroups.
#ifndef COMMSCHED_RUNTIME_BASE_MEMORY_LIMITS_H
#define COMMSCHED_RUNTIME_BASE_MEMORY_LIMITS_H

#include <cstdint>
#include <optional>
#include <string>

namespace commsched::runtime {

struct MemoryGroup {
  // How many processes of it the system has killed because memory was used up; nothing if it does not say.
  std::optional<uint64_t> kills;
  // Bytes that it may have besides those that it has, swap not counted; nothing if it has no limit.
  std::optional<uint64_t> room;
};

// `root`: a folder in whose place "/" is, for tests.
MemoryGroup ReadMemoryGroup(const std::string &root = "");

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_MEMORY_LIMITS_H
