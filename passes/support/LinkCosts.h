// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all passes assume of a link where its cluster says nothing.

#ifndef COMMSCHED_PASSES_SUPPORT_LINKCOSTS_H
#define COMMSCHED_PASSES_SUPPORT_LINKCOSTS_H

#include "ir/Cs.h"

namespace commsched {

/// What a message is taken to occupy its link for beside its bytes, where the
/// cluster says nothing (`overhead_ns = 0`): calls, frames and threads at both ends.
inline constexpr int64_t kDefaultOverhead = 20'000; // nanoseconds

inline int64_t overheadOf(cs::LinkAttr link) {
  return link.getOverheadNs() ? link.getOverheadNs() : kDefaultOverhead;
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_LINKCOSTS_H
