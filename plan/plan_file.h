// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container of a plan file: magic, length, checksum, payload. Plain C++
// without exceptions or Abseil, because the compiler side uses it too.
#ifndef COMMSCHED_PLAN_PLAN_FILE_H
#define COMMSCHED_PLAN_PLAN_FILE_H

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/plan.pb.h"

namespace commsched::plan {

inline constexpr uint32_t kSchemaVersion = 1;
// Bits (1 << Feature) of every feature that this build understands.
uint64_t KnownFeatures();

// Bytes of a plan file. The same plan gives the same bytes.
std::string Serialize(const Plan &plan);

// Parses the bytes of a plan file into `plan`. Returns the empty string on
// success, else one line that says what is wrong: not a plan, of another header
// version, truncated, damaged, of a newer schema version, or needing an unknown feature.
std::string Deserialize(std::string_view bytes, Plan *plan);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_PLAN_FILE_H
