// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a fragment took at least when it was measured.

#ifndef COMMSCHED_PASSES_SUPPORT_LEASTTIME_H
#define COMMSCHED_PASSES_SUPPORT_LEASTTIME_H

#include "ir/Cs.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

namespace commsched {

/// Of a cs.fragment whose cost says what it takes as a rule: nanoseconds, of all measurements the least (--read-costs). An i64 of 0 to that.
inline constexpr llvm::StringLiteral kLeastNsAttr("cs.least_ns");

/// The least, if it is known to be less than `ns`; else `ns`.
inline int64_t leastNsOf(cs::FragmentOp fragment, int64_t ns) {
  auto least = fragment->getAttrOfType<mlir::IntegerAttr>(kLeastNsAttr);
  return least && least.getType().isInteger(64) ? std::clamp<int64_t>(least.getInt(), 0, ns) : ns;
}

/// Leaves nothing where it is not less than `ns`.
inline void setLeastNs(cs::FragmentOp fragment, int64_t least, int64_t ns) {
  fragment->removeAttr(kLeastNsAttr);
  if (least < ns)
    fragment->setAttr(kLeastNsAttr, mlir::Builder(fragment.getContext()).getI64IntegerAttr(least));
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_LEASTTIME_H
