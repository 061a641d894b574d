// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A number for bytes that is the same on all machines and in all versions, as those of hash tables are not.
#ifndef COMMSCHED_PLAN_FNV1A_H
#define COMMSCHED_PLAN_FNV1A_H

#include <cstdint>
#include <string_view>

namespace commsched {

/// FNV-1a of 64 bits (Fowler, Noll and Vo).
constexpr uint64_t fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace commsched

#endif  // COMMSCHED_PLAN_FNV1A_H
