// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the update of a parameter can be applied to some of its rows.

#ifndef COMMSCHED_PASSES_INSERT_ROWUPDATES_H
#define COMMSCHED_PASSES_INSERT_ROWUPDATES_H

#include <optional>
#include <string>

#include "passes/insert/UpdateAnalysis.h"

namespace commsched {

struct NotByRows {
  mlir::Location loc; ///< of the op that is why
  std::string reason;
};

/// Why `unit`, of one parameter of rank 1 or more, does not act row by row along
/// dimension 0; nothing if it does.
std::optional<NotByRows> whyNotByRows(const UpdateAnalysis &analysis,
                                      const UpdateUnit &unit);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_ROWUPDATES_H
