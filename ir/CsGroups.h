// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of ranks (cs.group), and which one a communication is of.

#ifndef COMMSCHED_IR_CSGROUPS_H
#define COMMSCHED_IR_CSGROUPS_H

#include "ir/Cs.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <optional>

namespace commsched::cs {

/// The group that `op` names behind `in`; null for one of all ranks.
mlir::FlatSymbolRefAttr getGroupName(mlir::Operation *op);

/// The ranks of a collective, in the order in which its definition numbers them.
class Members {
public:
  /// Those of `op`, one of `ranks` ranks of a function of its module. An error at `op`
  /// if its group is not there, has a rank that is not, or has none.
  static llvm::FailureOr<Members> of(mlir::Operation *op, int64_t ranks);

  /// All of `ranks` ranks.
  explicit Members(int64_t ranks = 0) : count(ranks) {}

  int64_t size() const { return count; }
  int64_t rankAt(int64_t index) const { return group ? group->ranks[index] : index; }
  bool has(int64_t rank) const { return indexOf(rank).has_value(); }
  /// Nothing if it is not a member.
  std::optional<int64_t> indexOf(int64_t rank) const;
  /// True if they are all ranks, each with its own number.
  bool areAll() const { return !group; }

private:
  struct Group {
    llvm::SmallVector<int64_t> ranks;
    llvm::DenseMap<int64_t, int64_t> indices;
  };
  int64_t count;
  std::shared_ptr<const Group> group; // null for all
};

} // namespace commsched::cs

#endif // COMMSCHED_IR_CSGROUPS_H
