// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_PLAN_VERSION_H
#define COMMSCHED_PLAN_VERSION_H

namespace commsched {

// Of the compiler, the runtime and the tools; the build takes it from here.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace commsched

#endif  // COMMSCHED_PLAN_VERSION_H
