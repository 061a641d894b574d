// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large a cluster and a tensor may be: the same for compiler, plans, runs and simulations.
// docs/architecture.md says so too.
#ifndef COMMSCHED_PLAN_LIMITS_H
#define COMMSCHED_PLAN_LIMITS_H

#include <cstdint>

namespace commsched {

inline constexpr uint32_t kMaxNodes = 4096;
inline constexpr uint32_t kMaxDevices = 64;  // of one node
inline constexpr uint32_t kMaxServers = 4096;
// Of a tensor, and of an arena: so sums of sizes do not overflow.
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 46;

}  // namespace commsched

#endif  // COMMSCHED_PLAN_LIMITS_H
