// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A communication of a distributed function, and what ranks must agree on of it.

#ifndef COMMSCHED_PASSES_LOWER_COMMUNICATION_H
#define COMMSCHED_PASSES_LOWER_COMMUNICATION_H

#include "ir/CsGroups.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace commsched {

/// One communication of a function.
struct Communication {
  enum class Kind {
    collective,
    send,
    recv,
    collect,
    publish,
    copy,
    fetchRows,
    sendRows,
    updateRows
  };

  mlir::Operation *op; // the cs.start, or a level-1 op outside of one
  /// The communication op or cs.copy; null for a cs.start of exchanges.
  mlir::Operation *inner;
  Kind kind;
  llvm::StringRef key;
  /// Of a collective: whose it is.
  cs::Members members;

  /// Of a start that NCCL makes, its place in the order; else null.
  cs::NcclAttr nccl() const {
    return op->getAttrOfType<cs::NcclAttr>(cs::CsDialect::kNcclAttr);
  }

  bool isStart() const { return mlir::isa<cs::StartOp>(op); }
  /// What ranks must agree on, for people: "all_reduce mean of T", with
  /// "expanded" if it is made of exchanges.
  std::string describe() const;
  /// True if describe() is the same.
  bool agrees(const Communication &other) const;
};

/// Why NCCL does not reduce such values; empty if it does, in a communicator of all nodes.
llvm::StringRef reasonAgainstNccl(cs::AllReduceOp reduce);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_COMMUNICATION_H
